/**
 * Golden directories: databases as earlier versions wrote them must open and read the same for
 * ever.
 *
 * `CELLAR_REWRITE=1` writes the directory of the present format version anew; that is right only
 * for a new format version or before the first release.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Database } from '../../src/entries/index.js'
import { describe, goldenOptions, writeGolden } from './golden-content.js'

const golden = 'test/format/golden'
const present = 'v4'

if (process.env['CELLAR_REWRITE'] === '1') {
  void t.test('the golden directory is written anew', async () => {
    const directory = join(golden, present, 'database')
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory, { recursive: true })
    await writeGolden(directory)
    const database = await Database.open(directory, goldenOptions())
    writeFileSync(join(golden, present, 'content.txt'), describe(database.table('golden')))
    await database.close()
    // What is kept is the state before that second open.
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory, { recursive: true })
    await writeGolden(directory)
    // It holds space alone, and its bytes mean nothing.
    rmSync(join(directory, 'RESERVE'), { force: true })
  })
}

for (const version of existsSync(golden) ? readdirSync(golden) : []) {
  const content = (): string => readFileSync(join(golden, version, 'content.txt'), 'utf8')

  void t.test(`a database of format ${version} reads as it was written`, async (t) => {
    const directory = t.testdir()
    cpSync(join(golden, version, 'database'), directory, { recursive: true })
    const database = await Database.open(directory, goldenOptions())
    t.equal(describe(database.table('golden')), content())
    await database.compact(undefined, { major: false })
    t.ok(database.table('golden').existsSync({ row: 'only in the log' }))
    await database.close()
  })

  void t.test(`each damaged file of format ${version} is reported by name`, async (t) => {
    const files = readdirSync(join(golden, version, 'database')).filter((n) => n !== 'LOCK')
    const copies = t.testdir()
    for (const name of files) {
      const directory = join(copies, name)
      cpSync(join(golden, version, 'database'), directory, { recursive: true })
      const path = join(directory, name)
      const bytes = readFileSync(path)
      const at = Math.floor(bytes.length / 2)
      bytes[at] ^= 0x40
      writeFileSync(path, bytes)
      const failure = await readAll(directory)
      t.match(failure, { code: 'ERR_CORRUPTION' }, name)
      t.match(failure?.message, name, `${name} is named`)
    }
  })
}

/** Opens and reads everything; the error, if there was one. */
async function readAll(directory: string): Promise<Error | undefined> {
  let database: Database | undefined
  try {
    database = await Database.open(directory, goldenOptions())
    describe(database.table('golden'))
    return undefined
  } catch (error) {
    return error as Error
  } finally {
    await database?.close()
  }
}
