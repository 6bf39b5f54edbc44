/**
 * Reads an export (EXPORT.md) as cells with their time to live, for tools that write other formats.
 *
 * Checks are those of the decoder: chunks, their order and their checksums. Any deviation is
 * `ERR_CORRUPTION` with the offset of the chunk.
 */
import { readVarint, varintLength } from '../../base/varint.js'
import type { TableDescription } from '../../api/index.js'
import { cellTypeName, type CellTypeName } from '../../storage/cell/cell-type.js'
import { CellView } from '../../storage/cell/cell-view.js'
import type { Codecs } from '../../storage/codec/codec.js'
import { ChunkDecoder, ChunkKind, type Chunk } from './export-format.js'

/** A cell of an export. */
export interface ExportedCell {
  readonly row: Buffer
  readonly family: string
  readonly qualifier: Buffer
  readonly timestamp: bigint
  readonly type: CellTypeName
  /** Undefined: the cell does not expire by itself. */
  readonly ttlMilliseconds: number | undefined
  readonly value: Buffer
}

/** The table of an export, and then its cells in order. */
export type ExportedPart = { readonly table: TableDescription } | readonly ExportedCell[]

/** Decodes a stream of `Admin.exportTable`: first the table, then the cells of each chunk. */
export async function* exportedCells(
  source: AsyncIterable<Uint8Array>,
  codecs: Codecs,
): AsyncGenerator<ExportedPart, void> {
  const decoder = new ChunkDecoder(codecs, 'the export')
  let families: readonly string[] = []
  for await (const piece of source) {
    decoder.add(piece)
    for (let chunk = decoder.next(); chunk !== undefined; chunk = decoder.next()) {
      if (chunk.kind === ChunkKind.head) {
        const head = JSON.parse(chunk.payload.toString('utf8')) as {
          families: string[]
          table: TableDescription
        }
        families = head.families
        yield { table: head.table }
      } else if (chunk.kind === ChunkKind.cells) {
        yield cellsOf(chunk, families, decoder)
      }
    }
  }
  decoder.checkEnd()
}

/** Sections of a family: [varint family][u32 length], and in them cells with their lengths. */
function cellsOf(
  { payload, memory: { buffer }, offset }: Chunk,
  families: readonly string[],
  decoder: ChunkDecoder,
): ExportedCell[] {
  const cells: ExportedCell[] = []
  const view = new CellView()
  let at = 0
  while (at < payload.length) {
    const family = readVarint(buffer, at, payload.length)
    at += varintLength(Math.max(0, family)) + 4
    const end = at + buffer.readUInt32LE(at - 4)
    if (family < 0 || family >= families.length || end > payload.length) {
      throw decoder.damaged('cells that fill the chunk', `something else at ${at}`, offset)
    }
    while (at < end) {
      const keyBytes = readVarint(buffer, at, end)
      at += varintLength(keyBytes)
      const valueBytes = readVarint(buffer, at, end)
      at += varintLength(valueBytes)
      view.setCell(buffer, at, at + keyBytes, at + keyBytes + valueBytes)
      at += keyBytes + valueBytes
      cells.push({
        row: view.copyRow(),
        family: families[family],
        qualifier: view.copyQualifier(),
        timestamp: view.timestampExact,
        type: cellTypeName(view.type as Parameters<typeof cellTypeName>[0]),
        ttlMilliseconds: view.ttlMilliseconds === 0 ? undefined : view.ttlMilliseconds,
        value: view.copyValue(),
      })
    }
  }
  return cells
}
