/**
 * Imports an exported table (EXPORT.md), completely or not at all.
 *
 * Chunks are checked on arrival, and their cells are written to SSTables that no manifest names
 * yet. One edit (`Ingest`) adds these to the table, once the end has been read and all counts
 * agree. So a damaged, cut or aborted stream leaves no trace. After a crash the next open removes
 * the files. As in a bulk load, the cells count as written at the end of the import, with their old
 * timestamps; they are not in the log.
 *
 * The memory is a chunk, and that of `SortedFiles`. Written bytes are synced off the event loop
 * during the import. The filter at the end of a file blocks the event loop, about 0.1 s for 256 MiB
 * of small cells.
 */
import { checkSignal, isBytes, readArguments } from '../../base/arguments.js'
import { assert } from '../../base/assert.js'
import { CellarError, checkAborted, ErrorCode, invalidArgument } from '../../base/errors.js'
import { callback, checked, declareOptions, text, type OptionsOf } from '../../base/options.js'
import type { Engine } from '../../storage/engine/engine.js'
import { FileAdoption } from '../../storage/engine/catalog/file-adoption.js'
import { checkLoadable, type Ingest, type NewFile } from '../../storage/engine/transfer/ingest.js'
import { SortedFiles } from '../../storage/job/sorted-files.js'
import { decodeFamilySettings, formatOfFamily } from '../../storage/store/family-settings.js'
import type { TableDefinition } from '../../storage/version/catalog.js'
import { ChunkDecoder, ChunkKind, type Chunk } from './export-format.js'
import type { TransferProgress } from './export-table.js'
import { ImportCells } from './import-cells.js'
import { defineTable } from '../admin/schema.js'
import { newTableName, noSuchFamily } from '../../api/names.js'
import type { TableDescription } from '../../api/index.js'

const importOptions = declareOptions('an import', {
  /** The table; default: the name in the export. Created as exported if absent. */
  table: checked(newTableName),
  /** Names the stream in errors. Default 'the export'. */
  source: text('the export'),
  /** Called after each chunk. */
  onProgress: callback<(progress: TransferProgress) => void>(),
  /** Ends the import with `ERR_ABORTED`; no cell is imported. */
  signal: checked(checkSignal),
})

/** Options of an import. */
export interface ImportOptions extends OptionsOf<typeof importOptions> {}

/** The result of an import. */
export interface Imported extends TransferProgress {
  /** Name of the table. */
  readonly table: string
}

const fileBytesMax = 256 * 1024 * 1024
/** Bytes of cells between two syncs of the open files. */
const syncBytes = 8 * 1024 * 1024

/** The dependencies of an import. */
export interface ImportParts {
  readonly engine: Engine
  readonly ingest: Ingest
}

/** Runs an import; see the file header and `Admin.importTable`. */
export async function importTable(
  parts: ImportParts,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: ImportOptions,
): Promise<Imported> {
  const settings = importOptions.read(options)
  readArguments(() => checkSource(source))
  const { table, onProgress, signal } = settings
  const decoder = new ChunkDecoder(parts.engine.codecs, settings.source)
  const { engine } = parts
  const run = new ImportRun(parts, decoder, table)
  // A close cannot wait for the next piece of the stream.
  const end = (): void => run.abandon()
  engine.lifecycle.endedByClose.add(end)
  try {
    for await (const piece of source) {
      checkAborted('the transfer', signal)
      if (!isBytes(piece)) throw invalidArgument('the pieces of an export must be bytes')
      decoder.add(piece)
      for (let chunk = decoder.next(); chunk !== undefined; chunk = decoder.next()) {
        engine.lifecycle.checkWritable()
        run.take(chunk)
        onProgress?.(run.progress)
        await run.syncWritten()
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    checkAborted('the transfer', signal)
    if (!run.ended) throw decoder.endedEarly()
    decoder.checkEnd()
    return await engine.lifecycle.change(() => run.publish())
  } catch (error) {
    run.abandon()
    throw error
  } finally {
    engine.lifecycle.endedByClose.delete(end)
  }
}

function checkSource(source: unknown): void {
  const given = source as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined
  const isIterable =
    typeof given === 'object' &&
    given !== null &&
    !(given instanceof Uint8Array) &&
    (typeof given[Symbol.asyncIterator] === 'function' ||
      typeof given[Symbol.iterator] === 'function')
  if (!isIterable) throw invalidArgument('the source of an import must be an iterable of Buffers')
}

/** The table of an import. */
interface Target {
  readonly name: string
  /** The definition of a table to be created. */
  readonly definition: TableDefinition | undefined
  readonly files: SortedFiles
  readonly cells: ImportCells
}

class ImportRun {
  ended = false
  private isAbandoned = false
  /** Whether an edit with the files may be in the manifest. */
  private isEdited = false
  private readonly parts: ImportParts
  private readonly decoder: ChunkDecoder
  private readonly adoption: FileAdoption
  private readonly nameWanted: string | undefined
  private families: readonly string[] = []
  private target: Target | undefined = undefined
  private syncing: Promise<void> | undefined = undefined
  /** Bytes of cells at which the next sync starts. */
  private syncAt = syncBytes

  constructor(parts: ImportParts, decoder: ChunkDecoder, nameWanted: string | undefined) {
    this.parts = parts
    this.decoder = decoder
    this.adoption = new FileAdoption(parts.engine)
    this.nameWanted = nameWanted
  }

  get progress(): TransferProgress {
    const { rows = 0, cells = 0, bytes = 0 } = this.target?.cells ?? {}
    return { rows, cells, bytes }
  }

  take(chunk: Chunk): void {
    const { kind, offset } = chunk
    if (this.ended)
      throw this.decoder.damaged('the end of the stream', `a chunk of kind ${kind}`, offset)
    if ((kind === ChunkKind.head) !== (this.target === undefined)) {
      throw this.decoder.damaged(
        'one head, before all other chunks',
        `a chunk of kind ${kind}`,
        offset,
      )
    }
    if (kind === ChunkKind.head) this.begin(chunk)
    else if (kind === ChunkKind.cells) this.target!.cells.take(chunk)
    else if (kind === ChunkKind.end) this.end(chunk)
    else throw this.decoder.damaged('a known kind of chunk', `kind ${kind}`, offset)
  }

  /**
   * Starts a sync after enough bytes were written, once the previous sync has ended. Its failure is
   * thrown by the next call or by {@link publish}.
   */
  async syncWritten(): Promise<void> {
    const bytes = this.progress.bytes
    if (bytes < this.syncAt) return
    this.syncAt = bytes + syncBytes
    await this.syncing
    this.syncing = this.target!.files.sync()
    // The failure is thrown where the sync is awaited, which an import that fails earlier does not
    // reach.
    this.syncing.catch(() => undefined)
  }

  /** Publishes the SSTables as part of the table. */
  async publish(): Promise<Imported> {
    assert(this.ended && !this.isAbandoned, 'an import is published once its end was verified')
    await this.syncing
    const { name, definition, files } = this.target!
    const { ingest } = this.parts
    const list = files.finish().map(({ family, file }): NewFile => {
      return { family: this.families[family], file }
    })
    this.isEdited = true
    if (definition === undefined) await ingest.publish(name, list)
    else await ingest.publishNew(name, () => definition, list)
    return { table: name, ...this.progress }
  }

  /**
   * Closes and removes the written files. Keeps those that an edit names, after a failure of the
   * engine: the edit may be in the manifest.
   */
  abandon(): void {
    if (this.isAbandoned) return
    this.isAbandoned = true
    if (this.isEdited && this.parts.engine.lifecycle.failure !== undefined) return
    this.target?.files.abandon()
    this.adoption.abandon()
  }

  private begin(chunk: Chunk): void {
    const head = this.parseObject(chunk)
    if (typeof head.format === 'number' && head.format > 1) {
      const message = `the export has format ${head.format}, this version reads up to 1`
      throw new CellarError(ErrorCode.formatVersion, message)
    }
    const description = head.table as TableDescription | undefined
    const families = head.families as readonly string[] | undefined
    const wellFormed =
      head.format === 1 &&
      typeof description?.name === 'string' &&
      Array.isArray(families) &&
      families.every((family) => typeof family === 'string')
    if (!wellFormed) throw this.decoder.damaged('a description of a table', 'none', chunk.offset)
    this.families = families
    this.target = this.findTarget(description, families)
  }

  private findTarget(description: TableDescription, families: readonly string[]): Target {
    const { engine } = this.parts
    const name = newTableName(this.nameWanted ?? description.name)
    const table = engine.catalog.tables.get(name)
    let definition: TableDefinition | undefined
    if (table !== undefined) checkLoadable(table)
    if (table === undefined) {
      engine.catalog.checkNamespace(name)
      definition = defineTable(name, description, () => engine.versions.allocateId())
    }
    const known = table?.definition ?? definition!
    const formats = families.map((family) => {
      const found = known.families.find((other) => other.name === family)
      if (found === undefined) {
        const names = known.families.map((other) => other.name)
        throw noSuchFamily(family, name, names)
      }
      const settings = decodeFamilySettings(found.options)
      engine.codecs.byName(settings.codec)
      return formatOfFamily(settings)
    })
    const files = new SortedFiles({
      fileSystem: engine.fileSystem,
      codecs: engine.codecs,
      directory: engine.directory,
      databaseId: engine.versions.databaseId,
      formats,
      fileBytesMax,
      allocateFileNumber: () => this.adoption.allocate(),
      createdMilliseconds: engine.clock.now(),
    })
    const cells = new ImportCells(this.decoder, files, families.length)
    return { name, definition, files, cells }
  }

  private end(chunk: Chunk): void {
    this.ended = true
    const counts = this.parseObject(chunk)
    const { rows, cells, bytes } = this.progress
    if (counts.rows === rows && counts.cells === cells && counts.bytes === bytes) return
    const found = `${rows} rows, ${cells} cells, ${bytes} bytes`
    throw this.decoder.damaged(chunk.payload.toString('utf8'), found, chunk.offset)
  }

  private parseObject({ payload, offset }: Chunk): Record<string, unknown> {
    try {
      const value: unknown = JSON.parse(payload.toString('utf8'))
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
    } catch {
      // Reported below.
    }
    throw this.decoder.damaged('a JSON object', 'something else', offset)
  }
}
