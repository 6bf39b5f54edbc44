/**
 * Reads an export (EXPORT.md) as cells with their time to live, for tools that write other formats.
 *
 * Checks are those of the decoder: chunks, their order and their checksums. Any deviation is
 * `ERR_CORRUPTION` with the offset of the chunk.
 */
import type { TableDescription } from '../../api/index.js'
import { cellTypeName, type CellTypeName } from '../../storage/cell/cell-type.js'
import { CellView } from '../../storage/cell/cell-view.js'
import type { Codecs } from '../../storage/codec/codec.js'
import { ChunkDecoder, ChunkKind } from './export-format.js'

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

/** A piece of an export: the table that it begins with, or cells. */
export interface ExportedChunk {
  /** Names of the families, by the positions that cells have. */
  readonly families: readonly string[]
  /** Undefined of a piece with cells. */
  readonly table: TableDescription | undefined
  /** Calls `take` with each cell; the view is borrowed until the next one. */
  readonly visit: (take: (family: number, cell: CellView) => void) => void
}

/** Decodes a stream of `Admin.exportTable`: first the table, then chunks of cells. */
export async function* exportedChunks(
  source: AsyncIterable<Uint8Array>,
  codecs: Codecs,
): AsyncGenerator<ExportedChunk, void> {
  const decoder = new ChunkDecoder(codecs, 'the export')
  const view = new CellView()
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
        yield { families, table: head.table, visit: () => undefined }
      } else if (chunk.kind === ChunkKind.cells) {
        const { memory } = chunk
        const cells = chunk
        const visit: ExportedChunk['visit'] = (take) => {
          decoder.forEachCell(cells, families.length, (family, keyStart, keyEnd, valueEnd) => {
            view.setCell(memory.buffer, keyStart, keyEnd, valueEnd)
            take(family, view)
          })
        }
        yield { families, table: undefined, visit }
      }
    }
  }
  decoder.checkEnd()
}

/** As {@link exportedChunks}, with cells of their own. */
export async function* exportedCells(
  source: AsyncIterable<Uint8Array>,
  codecs: Codecs,
): AsyncGenerator<ExportedPart, void> {
  for await (const { families, table, visit } of exportedChunks(source, codecs)) {
    if (table !== undefined) {
      yield { table }
      continue
    }
    const cells: ExportedCell[] = []
    visit((family, view) => {
      cells.push({
        row: view.copyRow(),
        family: families[family],
        qualifier: view.copyQualifier(),
        timestamp: view.timestampExact,
        type: cellTypeName(view.type as Parameters<typeof cellTypeName>[0]),
        ttlMilliseconds: view.ttlMilliseconds === 0 ? undefined : view.ttlMilliseconds,
        value: view.copyValue(),
      })
    })
    yield cells
  }
}
