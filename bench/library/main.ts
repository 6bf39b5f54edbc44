/**
 * `npm run library [rounds] [seed]`: the packages that npm has installed here as records with
 * versions, links and blobs. A process adds and changes them, saves drafts, tags, drops and
 * restores versions, and is killed after a random number of acknowledged writes, again and again.
 * At the end every package is there with several versions, each version that was saved is as it was
 * told, and field indexes, links, the search index and blobs agree with the records.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { outliveReader, roundsAndSeed } from '../demonstration-words.js'
import { Journal, type Note } from './journal.js'
import { openLibrary, field, idOf, searchName, type Library } from './program.js'
import { readPackages } from './packages.js'
import { numbers } from './random.js'
import { verify } from './verify.js'

const worker = new URL('./worker.js', import.meta.url).pathname
const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** Runs a process, and kills it when it has told of so many things; without a number it ends. */
async function run(
  directory: string,
  seed: number,
  journal: Journal,
  killAfter = Infinity,
): Promise<void> {
  const isLast = killAfter === Infinity
  const parts = [worker, directory, String(seed), ...(isLast ? ['complete'] : [])]
  const child = spawn(process.execPath, parts, { stdio: ['ignore', 'pipe', 'inherit'] })
  let rest = ''
  let notes = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) journal.add(JSON.parse(line) as Note)
    notes += lines.length
    if (notes >= killAfter) child.kill('SIGKILL')
  })
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once('close', (code, signal) => resolve([code, signal]))
  })
  if (isLast ? code !== 0 : signal !== 'SIGKILL') {
    throw new Error(`the process ended with ${code ?? signal}`)
  }
  if (!isLast) journal.killed()
  say(isLast ? 'the last process has ended' : `process ${seed} was killed after ${notes} writes`)
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
  const packages = readPackages()
  const journal = new Journal()
  say(`${packages.length} packages, ${rounds} processes, seed ${seed}`)
  try {
    for (let round = 1; round <= rounds; round++) {
      await run(directory, seed + round, journal, Math.floor(100 + 400 * random()))
    }
    await run(directory, seed, journal)
    const library = await openLibrary(directory)
    await ask(library)
    const start = performance.now()
    const kept = await journal.compare(library)
    const found = await verify(library, packages)
    const problems = [...kept.problems, ...found.problems]
    await library.close()
    say(`${found.records} records with ${found.versions} versions that can be read`)
    say(`${journal.saves} saves were told; ${kept.versions} of their versions are still kept`)
    const { links, indexRows, documents } = found
    say(`${links} links, ${indexRows} rows of field indexes, ${documents} documents to search`)
    say(`${found.blobs} blobs, ${(found.blobBytes / 1e6).toFixed(1)} MB, all as they were written`)
    say(`${found.sweptBlobs} uploads of killed processes were removed`)
    say(`compared with a full rebuild in ${((performance.now() - start) / 1000).toFixed(1)} s`)
    for (const problem of problems.slice(0, 20)) say(`  ${problem}`)
    const what = 'the search index, the link index, the field indexes and the blobs'
    const kills = `after ${rounds} kills`
    say(
      problems.length === 0
        ? `every save is kept, and ${what} agree with a full rebuild ${kills}`
        : `THEY DIFFER ${kills}: ${problems.length} problems`,
    )
    return problems.length === 0
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

outliveReader()
const { rounds, seed } = roundsAndSeed('library', process.argv.slice(2))
main(rounds, seed).then(
  (agree) => {
    process.exitCode = agree ? 0 : 1
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  },
)
