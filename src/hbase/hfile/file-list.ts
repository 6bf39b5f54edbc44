/**
 * The directory of an export, and the list `_CELLAR` in it: the files, and how many cells they
 * have. The list is written when all files are durable, and before they get their names. HBase
 * passes over it.
 */
import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import { makeDurableDirectory } from '../../storage/engine/open/make-directory.js'
import { quietly, removeQuietly } from '../../storage/fs/quietly.js'
import type { FileSystem } from '../../storage/fs/types.js'
import { temporarySuffix } from '../../storage/fs/whole-file.js'
import { readCheckedJsonSync, writeCheckedJsonSync } from '../../storage/version/checked-json.js'
import { count, listOf, name, readObject, record } from '../../storage/version/json-fields.js'

const fileFields = {
  family: name,
  file: name,
  cells: count(1),
  bytes: count(1),
}

/** A file of an export. */
export interface ExportedFile {
  /** The column family of the cells. */
  readonly family: string
  /** The name of the file in the directory of its family. */
  readonly file: string
  /** Cells in the file. */
  readonly cells: number
  /** The size of the file. */
  readonly bytes: number
}

const listName = '_CELLAR'
const files = listOf(record('a file', fileFields))
/** HBase does not load files whose names begin so; it does load those that begin with a dot. */
const hidden = '_'

/** The name of a file until it is complete. */
export function hiddenName(file: string): string {
  return hidden + file
}

export class ExportDirectory {
  readonly #fileSystem: FileSystem
  readonly #path: string
  readonly #listPath: string

  constructor(fileSystem: FileSystem, path: string) {
    this.#fileSystem = fileSystem
    this.#path = path
    this.#listPath = fileSystem.join(path, listName)
  }

  /**
   * Makes the directory, and removes what an export that was interrupted has left.
   * `ERR_DIRECTORY_NOT_EMPTY`; `ERR_CORRUPTION` of a list.
   */
  prepare(): void {
    const fileSystem = this.#fileSystem
    makeDurableDirectory(fileSystem, this.#path)
    // An export that ended before all of its files had their names.
    const list = this.#read()
    const isUnfinished = list?.files.some((file) => this.#has(this.#hiddenPath(file)))
    if (isUnfinished === true) this.takeBack(list!.id)
    const left: string[] = []
    for (const family of fileSystem.listSync(this.#path)) {
      const path = fileSystem.join(this.#path, family)
      if (family === listName + temporarySuffix) {
        left.push(path)
        continue
      }
      const isFolder = fileSystem.statSync(path)?.kind === 'directory'
      const names = isFolder ? fileSystem.listSync(path) : ['']
      const foreign = names.find((each) => !/^_[0-9a-f]{32}$/.test(each))
      if (foreign !== undefined) {
        const found = foreign === '' ? family : fileSystem.join(family, foreign)
        const message = `${this.#path} must be empty for an export to HFiles; it holds ${found}`
        throw new CellarError(ErrorCode.directoryNotEmpty, message)
      }
      left.push(...names.map((each) => fileSystem.join(path, each)))
    }
    for (const path of left) fileSystem.unlinkSync(path)
  }

  /**
   * Hides the files of an export again, and then removes its list: at each moment in between the
   * export is one that did not end. False if the list of this id is still there.
   */
  takeBack(id: string): boolean {
    removeQuietly(this.#fileSystem, this.#listPath + temporarySuffix)
    try {
      const list = this.#read()
      if (list?.id !== id) return true
      this.#rename(list.files, false)
      this.#fileSystem.unlinkSync(this.#listPath)
    } catch {
      return false
    }
    // A list must not come back without its files after a power cut.
    quietly(() => this.#fileSystem.syncDirectorySync(this.#path))
    return true
  }

  /**
   * Writes the list of durable files, and gives them their names. `ERR_DIRECTORY_NOT_EMPTY` if
   * another export into the directory has removed one of them, or has files there too.
   */
  complete(id: string, list: readonly ExportedFile[]): void {
    this.#checkAlone(list)
    for (const family of familiesOf(list)) {
      this.#fileSystem.syncDirectorySync(this.#fileSystem.join(this.#path, family))
    }
    const content = { format: 1, id, files: list }
    writeCheckedJsonSync(this.#fileSystem, this.#path, listName, content)
    this.#rename(list, true)
  }

  /**
   * The files of an export that is complete; undefined if there is no list. An export that ended
   * before its files had their names is completed. `ERR_CORRUPTION`; `ERR_DIRECTORY_NOT_EMPTY` if
   * the list has another id.
   */
  finished(id: string): readonly ExportedFile[] | undefined {
    const list = this.#read()
    if (list === undefined) return undefined
    if (list.id !== id) {
      const message = `${this.#path} holds the HFiles of another export`
      throw new CellarError(ErrorCode.directoryNotEmpty, message)
    }
    // The process that wrote the list may have ended before it was on the disk.
    this.#fileSystem.syncDirectorySync(this.#path)
    this.#rename(list.files, true)
    return list.files
  }

  /**
   * Refuses a directory without a file of its list: an export that did not end, or a part of one. A
   * directory without a list has no Cellar as its writer. `ERR_CORRUPTION`.
   */
  checkComplete(paths: ReadonlySet<string>): void {
    for (const each of this.#read()?.files ?? []) {
      const path = this.#pathOf(each.family, each.file)
      if (paths.has(path)) continue
      const expected = 'a file of the export, as its list says'
      const isHidden = this.#has(this.#hiddenPath(each))
      const found = isHidden ? 'one without its name: the export did not end' : 'nothing'
      throw corruption('incomplete export to HFiles', { file: path, offset: 0, expected, found })
    }
  }

  /** Refuses an export that was not alone: HBase would load the files of two tables as one. */
  #checkAlone(list: readonly ExportedFile[]): void {
    const fileSystem = this.#fileSystem
    const own = list.map(({ family, file }) => fileSystem.join(family, hiddenName(file)))
    const present = fileSystem.listSync(this.#path).flatMap((family) => {
      const path = fileSystem.join(this.#path, family)
      if (fileSystem.statSync(path)?.kind !== 'directory') return [family]
      return fileSystem.listSync(path).map((file) => fileSystem.join(family, file))
    })
    if (own.length === present.length && own.every((each) => present.includes(each))) return
    const message = `another export writes to ${this.#path}`
    throw new CellarError(ErrorCode.directoryNotEmpty, message)
  }

  /** The list; undefined if there is none. `ERR_CORRUPTION`. */
  #read(): { readonly id: string; readonly files: readonly ExportedFile[] } | undefined {
    if (!this.#has(this.#listPath)) return undefined
    return readCheckedJsonSync(this.#fileSystem, this.#listPath, 'list of HFiles', (value) => {
      const fields = readObject(value, 'the list')
      return { id: name.read(fields.id, 'id'), files: files.read(fields.files, 'files') }
    })
  }

  #has(path: string): boolean {
    return this.#fileSystem.statSync(path) !== undefined
  }

  #pathOf(family: string, file: string): string {
    return this.#fileSystem.join(this.#fileSystem.join(this.#path, family), file)
  }

  #hiddenPath({ family, file }: ExportedFile): string {
    return this.#pathOf(family, hiddenName(file))
  }

  /**
   * Gives files their names, or hides them, durably. Those that are so already, or that HBase has
   * taken, stay.
   */
  #rename(list: readonly ExportedFile[], shown: boolean): void {
    for (const each of list) {
      const paths = [this.#hiddenPath(each), this.#pathOf(each.family, each.file)]
      const [from, to] = shown ? paths : paths.reverse()
      if (this.#has(from)) this.#fileSystem.renameSync(from, to)
    }
    for (const family of familiesOf(list)) {
      const folder = this.#fileSystem.join(this.#path, family)
      if (this.#has(folder)) this.#fileSystem.syncDirectorySync(folder)
    }
  }
}

function familiesOf(list: readonly ExportedFile[]): ReadonlySet<string> {
  return new Set(list.map(({ family }) => family))
}
