/**
 * Saves what can be saved of a damaged database into a new directory, or puts the directory itself
 * in order, and lists all losses.
 *
 * 1. The directory is read as by a verification (verify-database.ts). A damaged file is replaced by
 *    the one of a backup, if that names the same file.
 * 2. Sound files keep their numbers, levels and bytes. Of a damaged SSTable every cell that can be
 *    read goes into a new one of the same level, with values in place of references.
 * 3. The mutations of the log become an SSTable of level 0 for each family.
 * 4. The manifest is published: in that moment the directory becomes the database.
 *
 * A salvage never writes to the old directory, and leaves nothing in the new one after an error. A
 * crash leaves a directory without manifest, which no open takes; remove it. A repair writes new
 * files beside the old ones and publishes a manifest with a higher number. Only then it moves the
 * damaged files and the log into the folder `damaged-NUMBER`; nothing is removed. A damaged file
 * that the backup has gets a name there before, and then the complete copy replaces it.
 * After an error before the manifest is published the old one is in force. After a later one the
 * directory is repaired, and some damaged files were not moved: the next open removes them.
 * A repair that finds nothing to do syncs the directory, so that the work of a killed one lasts.
 *
 * A lost cell can bring an older version to light, and a lost marker the cells that it deleted;
 * the losses name the rows.
 */
import { checkSignal } from '../../../base/arguments.js'
import {
  boolean,
  callback,
  checked,
  choice,
  declareOptions,
  text,
  type OptionsOf,
} from '../../../base/options.js'
import { loadChecksums } from '../../codec/checksum.js'
import { loadCodecs } from '../../codec/codec.js'
import { NodeFileSystem } from '../../fs/node-fs.js'
import type { FileSystem } from '../../fs/types.js'
import { freezeDirectory } from '../catalog/frozen-directory.js'
import { makeDurableDirectory } from '../open/make-directory.js'
import { fileSystemOption, rateOption, readWithPaths } from '../options.js'
import { checkEmpty } from '../transfer/restore.js'
import type { Salvage } from './findings.js'
import { Pace } from './pace.js'
import { readWreck, type Wreck } from './wreck.js'
import { SalvageRun } from './salvage-run.js'

const commonOptions = {
  /** A backup whose files take the place of damaged ones. */
  backup: text(undefined),
  /**
   * Which mutations of a damaged log are saved: `all` that can be read, or the `prefix` before the
   * first damage, which is a state that the database once had. Default 'all'.
   */
  log: choice<'all' | 'prefix'>(['all', 'prefix'], 'all'),
  /** Most bytes to read per second, at least 1024. Default Infinity. */
  bytesPerSecondMax: rateOption,
  /** Called with the part of the bytes that is read, 0 to 1. */
  onProgress: callback<(part: number) => void>(),
  /** Ends the work with `ERR_ABORTED`. */
  signal: checked(checkSignal),
  /** Where the directories live. Default: the machine's file system. */
  fileSystem: fileSystemOption,
}

const salvageOptions = declareOptions('a salvage', commonOptions)

/** Options of a salvage. */
export interface SalvageOptions extends OptionsOf<typeof salvageOptions> {}

const repairOptions = declareOptions('a repair', {
  ...commonOptions,
  /** Whether the directory is changed. Default false: the result says what would be done. */
  apply: boolean(false),
})

/** Options of a repair. */
export interface RepairOptions extends OptionsOf<typeof repairOptions> {}

type Settings = ReturnType<typeof salvageOptions.read>

/** Salvages `from` into the empty or absent directory `to`. */
export async function salvageDatabase(
  from: string,
  to: string,
  options: SalvageOptions,
): Promise<Salvage> {
  const settings = readWithPaths([from, to], () => salvageOptions.read(options))
  const fileSystem = settings.fileSystem ?? new NodeFileSystem()
  checkEmpty(fileSystem, to)
  return withWreck(fileSystem, from, settings, async (wreck) => {
    makeDurableDirectory(fileSystem, to)
    const lock = await fileSystem.lock(to)
    try {
      checkEmpty(fileSystem, to, true)
      return await new SalvageRun(fileSystem, wreck, to, settings.log).salvage()
    } finally {
      await lock.release()
    }
  })
}

/** Repairs a directory in place, or tells what a repair would do. */
export async function repairDatabase(directory: string, options: RepairOptions): Promise<Salvage> {
  const settings = readWithPaths([directory], () => repairOptions.read(options))
  const fileSystem = settings.fileSystem ?? new NodeFileSystem()
  const run = (wreck: Wreck): SalvageRun => {
    return new SalvageRun(fileSystem, wreck, directory, settings.log)
  }
  if (!settings.apply) {
    return withWreck(fileSystem, directory, settings, async (wreck) => run(wreck).plan())
  }
  const view = await freezeDirectory(fileSystem, directory)
  view.closeSync()
  const lock = await fileSystem.lock(directory)
  try {
    return await withWreck(fileSystem, directory, settings, async (wreck) => {
      if (wreck.evidence.problems.length > 0 || wreck.isDamaged) return run(wreck).repair()
      // The names that a killed repair has left may not be durable yet.
      fileSystem.syncDirectorySync(directory)
      return run(wreck).plan()
    })
  } finally {
    await lock.release()
  }
}

async function withWreck<T>(
  fileSystem: FileSystem,
  directory: string,
  settings: Settings,
  run: (wreck: Wreck) => Promise<T>,
): Promise<T> {
  await loadChecksums()
  const pace = new Pace('the salvage', settings)
  const wreck = await readWreck(fileSystem, directory, settings.backup, loadCodecs(), pace)
  try {
    return await run(wreck)
  } finally {
    wreck.close()
  }
}
