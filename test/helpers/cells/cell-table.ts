/** An SSTable of cells as a job writes it, with marks of its rows. */
import { CellView } from '../../../src/storage/cell/cell-view.js'
import type { CodecName } from '../../../src/storage/codec/codec.js'
import { SsTableOutput } from '../../../src/storage/job/sstable-output.js'
import type { SsTableReader } from '../../../src/storage/sstable/reader.js'
import { formatFileName } from '../../../src/storage/version/file-names.js'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { cellOf, storedForm } from '../../unit/storage/scan/random-cells.js'
import {
  bytesOf,
  codecs,
  databaseId,
  fileSystemWith,
  open,
} from '../../unit/storage/sstable/helpers.js'

/** Cells in any order; each has the sequence after the one before, unless it names its own. */
export type Cells = Parameters<typeof cellOf>[0][]

/** The number of the file, and of the files of the helpers. */
const fileNumber = 9

/** The bytes of the table; without a codec blocks are stored raw. */
export function cellTableBytes(
  cells: Cells,
  blockBytes: number,
  codec: CodecName = 'none',
): Buffer {
  const disk = new SimulatedDisk()
  const output = new SsTableOutput(disk, codecs, { directory: '', databaseId }, fileNumber, {
    blockBytes,
    codec,
    bloomFilter: 'ROW',
    rowPrefixBytes: 0,
    inlineBytesMax: Infinity,
  })
  const forms = cells.map((parts, index) => storedForm(cellOf({ sequence: index + 1, ...parts })))
  forms.sort((a, b) => Buffer.compare(a.bytes.subarray(0, a.keyEnd), b.bytes.subarray(0, b.keyEnd)))
  const cell = new CellView()
  for (const { bytes, keyEnd } of forms) {
    cell.setCell(bytes, 0, keyEnd, bytes.length)
    output.add(cell)
  }
  output.finish(0, 0)
  return bytesOf(disk, disk.join('', formatFileName('table', fileNumber)))
}

/** The table, opened. */
export function cellTable(cells: Cells, blockBytes: number): SsTableReader {
  return open(fileSystemWith(cellTableBytes(cells, blockBytes)))
}
