/** F. A scan of a damaged file, which only the embedded engine has. */
import { posix } from 'node:path'
import { CellarError } from '../../../src/api/index.js'
import { steered, type CaseContext, type TableCase } from '../../suites/table/case.js'
import type { FileSystem } from '../../../src/storage/fs/types.js'
import { embedded } from './embedded-space.js'

/** Every file below a directory. */
function filesIn(fileSystem: FileSystem, directory: string): string[] {
  return fileSystem.listSync(directory).flatMap((name) => {
    const path = posix.join(directory, name)
    const kind = fileSystem.statSync(path)?.kind
    return kind === 'directory' ? filesIn(fileSystem, path) : [path]
  })
}

async function damageTables(context: CaseContext): Promise<void> {
  await context.flush()
  const { fileSystem, directory } = embedded(context)
  const before = filesIn(fileSystem, directory).filter((path) => path.endsWith('.sst'))
  context.same(before.length > 0, true, 'a flush leaves a file')
  for (const path of before) {
    const file = fileSystem.openSync(path, 'write')
    const byte = Buffer.alloc(1)
    file.readSync(byte, 0, 1, 40)
    byte[0] ^= 0xff
    file.writeSync(byte, 0, 1, 40)
    file.closeSync()
  }
}

export const damageCases: readonly TableCase[] = [
  {
    number: 104,
    title: 'a damaged file makes a scan fail',
    source: 'TestScannerWithCorruptHFile',
    states: steered,
    steps: [
      {
        putList: Array.from({ length: 1000 }, (_, index) => {
          return { row: `${index}`.padStart(3, '0'), cells: { 'f:q': 'v' } }
        }),
      },
      { get: { row: '000' }, cells: ['q=v'] },
      {
        run: async (context) => {
          await damageTables(context)
          let code: string | undefined
          try {
            await context.calls.scan()
          } catch (error) {
            code = error instanceof CellarError ? error.code : String(error)
          }
          context.same(code, 'ERR_CORRUPTION', 'the scan')
        },
      },
    ],
  },
]
