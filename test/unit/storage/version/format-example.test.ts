import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { scanRecordsSync } from '../../../../src/storage/record/record-scan.js'
import { openVersionSet } from '../../../doubles/version-set.js'
import { directory, manifestName, newFileSystem } from './fixtures.js'
import { projectRoot } from '../../../helpers/project-root.js'

void t.test('the worked example of FORMAT.md is what the code writes', async (t) => {
  await loadChecksums()
  const fileSystem = newFileSystem()
  const set = openVersionSet(fileSystem, directory)
  const tableId = set.allocateId()
  const families = [{ storeId: set.allocateId(), name: 'geo', options: { versions: 3 } }]
  set.publishSync({ tablesCreated: [{ tableId, name: 'cities', families, options: {} }] })
  const format = join(projectRoot, 'src/storage/version/FORMAT.md')
  const documentation = readFileSync(format, 'utf8')
  const rows: string[] = []
  const expected = { kind: 'manifest', fileNumber: 1 } as const
  const path = `${directory}/${manifestName(fileSystem)}`
  const scan = scanRecordsSync(fileSystem, path, expected, (payload, start, end, sequence, at) => {
    rows.push(`| ${at} | data frame, sequence ${sequence}, `)
    rows.push(`${end - start} bytes | \`${payload.toString('utf8', start, end)}\` |`)
  })
  rows.push(`with ${scan.fileLength} bytes:`)
  for (const row of rows) t.ok(documentation.includes(row), row)
})
