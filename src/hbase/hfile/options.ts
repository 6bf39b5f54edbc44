/** The options of exports to HFiles and of loads from them. */
import { checkBytesLike, checkSignal } from '../../base/arguments.js'
import { toBytes } from '../../base/bytes.js'
import {
  callback,
  checked,
  choice,
  declareOptions,
  integer,
  list,
  unchecked,
  type Option,
  type OptionsOf,
} from '../../base/options.js'
import type { BytesLike, Snapshot } from '../../api/index.js'
import { fileSystemOption } from '../../storage/engine/options.js'
import { compressionNames } from './compression.js'

/** How far an export or a load is. */
export interface HFileProgress {
  /** Number of cells so far. */
  readonly cells: number
}

/** A row; the result is a copy. */
const row: Option<BytesLike, Buffer> = {
  read(value, name) {
    checkBytesLike(value, `option ${name}`)
    return Buffer.from(toBytes(value))
  },
}

const shared = {
  /** Called about every 128 KiB. */
  onProgress: callback<(progress: HFileProgress) => void>(),
  /** Ends the call with `ERR_ABORTED`. */
  signal: checked(checkSignal),
  /** Default: the machine's file system. */
  fileSystem: fileSystemOption,
}

/**
 * Compression of the blocks. HBase always reads 'NONE' and 'GZ'; for 'LZ4' its servers need the
 * library lz4-java. Default 'NONE'.
 */
export const compressionOption = choice(compressionNames, 'NONE')

/** The declaration of {@link HFileExportOptions}. */
export const exportOptions = declareOptions('an export to HFiles', {
  /**
   * Rows at which new files begin: the first rows of the regions of the target. Default: none, so
   * one file a family. HBase's bulk load cuts files that lie in several regions itself.
   */
  splitKeys: list(row),
  /**
   * Compression of the blocks. HBase always reads 'NONE' and 'GZ'; for 'LZ4' its servers need the
   * library lz4-java. Default 'NONE'.
   */
  compression: compressionOption,
  /** Size in bytes at which a data block is ended. Default 64 KiB, as in HBase. */
  blockBytes: integer({ min: 1024, max: 16 * 1024 * 1024, default: 64 * 1024 }),
  /** Size in bytes at which a block of the index is ended. Default 128 KiB, as in HBase. */
  indexBlockBytes: integer({ min: 256, max: 16 * 1024 * 1024, default: 128 * 1024 }),
  /** The point in time to export. Default: now. */
  snapshot: unchecked<Snapshot>(),
  ...shared,
})

/** Options of `exportHFiles`. */
export interface HFileExportOptions extends OptionsOf<typeof exportOptions> {}

/** The declaration of {@link HFileLoadOptions}. */
export const loadOptions = declareOptions('a load of HFiles', shared)

/** Options of `loadHFiles`. */
export interface HFileLoadOptions extends OptionsOf<typeof loadOptions> {}
