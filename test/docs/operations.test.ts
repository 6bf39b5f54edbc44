/**
 * The walks of docs/operations.md: every command is run, after the misfortune that the section is
 * about, and must print and end as the page says.
 *
 * @runs alone, campaign
 */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { Database } from '../../src/entries/index.js'
import { loadChecksums, placeSeed, xxh64 } from '../../src/storage/codec/checksum.js'
import { projectRoot, runProgram } from '../rules/support.js'
import { extractWalks, isAsPrinted, type WalkStep } from './shell-walks.js'

const walks = extractWalks(readFileSync(join(projectRoot, 'docs/operations.md'), 'utf8'))

/** Makes `data/shop`: 600 flushed orders in four files, and two that are in the log alone. */
async function makeShop(home: string): Promise<string> {
  const directory = join(home, 'data', 'shop')
  mkdirSync(join(home, 'data'), { recursive: true })
  const database = await Database.open(directory)
  const orders = await database.createTable('orders', { families: { f: { blockBytes: 1024 } } })
  const put = (i: number): Promise<unknown> =>
    orders.put({ row: `order-${String(i).padStart(3, '0')}`, cells: { 'f:sum': String(i * 7) } })
  for (let file = 0; file < 4; file++) {
    for (let i = file; i < 600; i += 4) await put(i)
    await database.flush()
  }
  for (const i of [900, 901]) await put(i)
  await database.close()
  return directory
}

/** The only file, or the first of several, with this ending. */
function fileOf(directory: string, ending: RegExp): string {
  return join(directory, readdirSync(directory).filter((name) => ending.test(name))[0])
}

async function cellar(home: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(home, `cellar ${words.join(' ')}`)
  if (code !== 0) throw new Error(`cellar ${words.join(' ')}: ${stderr}`)
  return stdout
}

/** A backup on another disk: its files are copies. */
async function makeBackup(home: string): Promise<void> {
  await cellar(home, 'backup', 'backups', '--keep', '14', '-d', 'data/shop')
  cpSync(join(home, 'backups'), join(home, 'copies'), { recursive: true })
  rmSync(join(home, 'backups'), { recursive: true })
  renameSync(join(home, 'copies'), join(home, 'backups'))
}

/** A small disk at `data`, with one MiB left beside the database. */
async function fillDisk(home: string): Promise<void> {
  await makeShop(home)
  await cellar(home, 'dump', 'orders', '-o', 'orders.jsonl', '-d', 'data/shop')
  rmSync(join(home, 'data', 'shop'), { recursive: true })
  mountSmall(join(home, 'data'))
  await makeShop(home)
  const other = join(home, 'data', 'other.bin')
  // The last bytes of the disk: writes get smaller until nothing fits.
  for (let bytes = 1 << 20; bytes >= 1024; bytes /= 2) {
    for (;;) {
      try {
        writeFileSync(other, Buffer.alloc(bytes), { flag: 'a' })
      } catch {
        break
      }
    }
  }
}

function mountSmall(folder: string): void {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder])
  if (status !== 0) throw new Error(`no file system can be mounted at ${folder}`)
}

/** Whether this process may mount a file system, as root mostly may. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'cellar-mount-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder])
  if (status === 0) spawnSync('umount', [folder])
  rmdirSync(folder)
  return status === 0
}

async function makeNewer(home: string): Promise<void> {
  await loadChecksums()
  const newer = join(home, 'data', 'newer')
  cpSync(join(home, 'data', 'shop'), newer, { recursive: true })
  const path = fileOf(newer, /^MANIFEST-/)
  const bytes = readFileSync(path)
  bytes.writeUInt32LE(3, 8)
  const seed = placeSeed(Number(/\d+$/.exec(path)![0]), 0)
  bytes.writeBigUInt64LE(xxh64(bytes.subarray(0, 104), seed), 104)
  writeFileSync(path, bytes)
}

/** The misfortunes by the headings of their walks. */
const misfortunes: Readonly<Record<string, (home: string) => Promise<void>>> = {
  'A backup every night': async (home) => void (await makeShop(home)),
  'The disk is full': fillDisk,
  'A file is damaged': async (home) => {
    const directory = await makeShop(home)
    await makeBackup(home)
    const path = fileOf(directory, /\.sst$/)
    const bytes = readFileSync(path)
    bytes[1500] ^= 0x10
    writeFileSync(path, bytes)
  },
  'The log is lost': async (home) => {
    const directory = await makeShop(home)
    rmSync(fileOf(directory, /\.log$/))
  },
  'Reads are slow': async (home) => void (await makeShop(home)),
  'An upgrade': async (home) => {
    await makeShop(home)
    await makeNewer(home)
  },
}

let commands = ''

async function run(home: string, command: string) {
  const path = `${commands}${delimiter}${process.env['PATH'] ?? ''}`
  const environment = { PATH: path, NODE_OPTIONS: '' }
  return runProgram('sh', ['-c', `( ${command} ) 2>&1`], { cwd: home, environment })
}

void t.test('the walks of the operator', async (t) => {
  commands = t.testdir()
  const program = join(projectRoot, 'build/package/cellar.js')
  writeFileSync(
    join(commands, 'cellar'),
    `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`,
  )
  chmodSync(join(commands, 'cellar'), 0o755)
  t.same(
    walks.map(({ heading }) => heading).sort(),
    Object.keys(misfortunes).sort(),
    'each walk has its misfortune',
  )
  for (const { heading, steps } of walks) {
    const skip =
      heading === 'The disk is full' && !canMount() ? 'no file system can be mounted' : false
    await t.test(heading, { skip }, async (t) => {
      const home = t.testdir()
      try {
        await misfortunes[heading](home)
        for (const step of steps) await check(t, home, step)
      } finally {
        // Before the folder is removed, which holds the small disk.
        if (heading === 'The disk is full') spawnSync('umount', [join(home, 'data')])
      }
    })
  }
})

async function check(t: Test, home: string, step: WalkStep): Promise<void> {
  const { code, stdout } = await run(home, step.command)
  const place = `docs/operations.md:${step.line} ${step.command}`
  t.equal(code, step.exitCode, `${place}: ${stdout}`)
  t.ok(isAsPrinted(step.prints, stdout), `${place} prints what it says`, {
    found: stdout.split('\n'),
    wanted: step.prints,
  })
}

void t.test('walks are found, and outputs compared line by line', (t) => {
  const page = ['## One', '```sh', '$ a b # exit 3', 'x …', '```', '```ts', '$ c', '```'].join('\n')
  t.strictSame(extractWalks(page), [
    { heading: 'One', steps: [{ line: 3, command: 'a b', exitCode: 3, prints: ['x …'] }] },
  ])
  t.ok(isAsPrinted(['a …', '…'], 'a 1\nb\n'))
  t.notOk(isAsPrinted(['a …'], 'a 1\nb\n'), 'a line more')
  t.notOk(isAsPrinted(['a', 'b'], 'a\n'), 'a line less')
  t.throws(() => extractWalks('```sh\n$ a\n```'), /before the first heading/)
  t.throws(() => extractWalks('## One\n```sh\nx\n```'), /without a command/)
  t.end()
})
