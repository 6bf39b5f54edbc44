/**
 * `npm run library [rounds] [seed]`: the packages that npm has installed here as records with
 * versions, links and blobs. A process adds and changes them, and is killed at random moments,
 * again and again; at the end field indexes, links, the search index and blobs must agree with the
 * records.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLibrary, field, idOf, searchName, type Library } from './program.js'
import { readPackages } from './packages.js'
import { numbers } from './random.js'
import { verify } from './verify.js'

const worker = new URL('./worker.js', import.meta.url).pathname
const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** Runs a process, and kills it so long after it has opened the library. */
async function runAndKill(directory: string, seed: number, milliseconds: number): Promise<void> {
  const child = spawn(process.execPath, [worker, directory, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), milliseconds))
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once('close', (code, signal) => resolve([code, signal]))
  })
  if (signal !== 'SIGKILL') throw new Error(`the process ended by itself with ${code}`)
}

/** What a reader would ask. */
async function ask({ manager, table, following, searches }: Library): Promise<void> {
  const index = searches.index(searchName)
  await Promise.all([following.caughtUp(), index.waitFor()])
  const start = performance.now()
  const mit = await table.query({ equals: { [field('licence')]: 'MIT' }, limit: 3 })
  const names = mit.records.map(({ fields }) => fields[field('name')] as string)
  say(`licence MIT, first three: ${names.join(', ')}`)
  const keyword = { equals: { [field('keywords')]: 'typescript' }, limit: 5 }
  const { records } = await table.query(keyword)
  say(`keyword typescript: ${records.map(({ fields }) => fields[field('name')]).join(', ')}`)
  const sort = [{ field: field('needsCount'), order: 'DESCENDING' }] as const
  const [most] = (await table.query({ sort, limit: 1 })).records
  const [populated] = await manager.repository().populate([most], [[field('needs')]])
  const links = populated.links[field('needs')] ?? []
  const known = links.filter((link) => link !== undefined).length
  const mostName = most.fields[field('name')] as string
  say(`needs most: ${mostName}, ${links.length} packages, ${known} of them here`)
  const referrers = await manager.links.referrers(table, idOf('typescript'))
  say(`${referrers.length} packages need typescript`)
  const query = 'description_t:parser needs_t_mv:parser'
  const { total } = await index.search({ query, limit: 1 })
  say(`${total} packages are parsers, or need one`)
  say(`five questions in ${(performance.now() - start).toFixed(1)} ms`)
}

async function main(rounds: number, seed: number): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-library-'))
  const random = numbers(seed)
  say(`${readPackages().length} packages, ${rounds} processes, seed ${seed}`)
  try {
    for (let round = 1; round <= rounds; round++) {
      const milliseconds = Math.floor(500 + 4000 * random())
      await runAndKill(directory, seed + round, milliseconds)
      say(`process ${round} was killed after ${milliseconds} ms`)
    }
    const library = await openLibrary(directory)
    await ask(library)
    const start = performance.now()
    const found = await verify(library)
    await library.close()
    say(`${found.records} records with ${found.versions} versions that can be read`)
    const { links, indexRows, documents } = found
    say(`${links} links, ${indexRows} rows of field indexes, ${documents} documents to search`)
    say(`${found.blobs} blobs, ${(found.blobBytes / 1e6).toFixed(1)} MB, all as they were written`)
    say(`${found.sweptBlobs} uploads of killed processes were removed`)
    say(`compared with a full rebuild in ${((performance.now() - start) / 1000).toFixed(1)} s`)
    for (const problem of found.problems.slice(0, 20)) say(`  ${problem}`)
    const kept = 'the search index, the link index, the field indexes and the blobs'
    const kills = `after ${rounds} kills`
    say(
      found.problems.length === 0
        ? `${kept} agree with a full rebuild ${kills}`
        : `THEY DIFFER ${kills}: ${found.problems.length} problems`,
    )
    return found.problems.length === 0 && found.records > 0
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const [rounds = '12', seed = '1'] = process.argv.slice(2)
main(Number(rounds), Number(seed)).then(
  (agree) => {
    process.exitCode = agree ? 0 : 1
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  },
)
