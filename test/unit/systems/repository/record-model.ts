/**
 * A plain model of one record with versions, in memory. It shares no code with the repository: a
 * version is a set of values, and every rule of docs/repository.md stands here once more.
 */

/** A value with its metadata. */
export interface ModelCell {
  readonly value: unknown
  readonly metadata: Readonly<Record<string, unknown>>
}

interface ModelVersion {
  readonly created: number
  readonly cells: Map<string, ModelCell>
  /** Mutable fields that were here once. */
  readonly gone: Set<string>
}

/** What is written. */
export interface ModelInput {
  readonly fields: Readonly<Record<string, unknown>>
  readonly fieldsToDelete: readonly string[]
  readonly metadata: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** What a record shows. */
export interface ModelView {
  readonly version: number | undefined
  readonly fields: Record<string, unknown>
  readonly metadata: Record<string, unknown>
}

export type ModelStatus =
  | 'CREATED'
  | 'UPDATED'
  | 'UP_TO_DATE'
  | 'DELETED'
  | 'NOT_FOUND'
  | 'EXISTS'
  | 'NO_VERSION'
  | 'LATE'

/** Metadata in the order of names, as two of them are equal whatever the order they came in. */
function merged(...parts: (ModelCell['metadata'] | undefined)[]): ModelCell['metadata'] {
  const all = Object.entries(Object.assign({}, ...parts) as ModelCell['metadata'])
  return Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The scope by the first letter of the name: n, v or m; x are version tags. */
const isPlain = (name: string): boolean => name.startsWith('n') || name.startsWith('x')
const isMutable = (name: string): boolean => name.startsWith('m')

export class RecordModel {
  #exists = false
  #isKept = false
  #last = 0
  #first = 0
  #newest = 0
  #isAutosave = false
  /** The greatest time of a write. */
  #modified = 0
  #plain = new Map<string, ModelCell>()
  #versions = new Map<number, ModelVersion>()
  readonly #keeps: number

  /** With the milliseconds in which a deleted record can be brought back. */
  constructor(keeps: number) {
    this.#keeps = keeps
  }

  get exists(): boolean {
    return this.#exists
  }

  get newest(): number {
    return this.#newest
  }

  /** A model of the same record that goes its own way. */
  copy(): RecordModel {
    const copy = new RecordModel(this.#keeps)
    copy.#exists = this.#exists
    copy.#isKept = this.#isKept
    copy.#last = this.#last
    copy.#first = this.#first
    copy.#newest = this.#newest
    copy.#isAutosave = this.#isAutosave
    copy.#modified = this.#modified
    copy.#plain = new Map(this.#plain)
    for (const [version, { created, cells, gone }] of this.#versions) {
      copy.#versions.set(version, { created, cells: new Map(cells), gone: new Set(gone) })
    }
    return copy
  }

  /** Whether the newest version has a value in a field. */
  has(name: string, value: unknown): boolean {
    return this.view(this.#newest)?.fields[name] === value
  }

  create(input: ModelInput, now: number): ModelStatus {
    if (this.#exists) return 'EXISTS'
    this.#forget()
    this.#exists = true
    this.#modified = Math.max(now, this.#modified)
    const names = Object.keys(input.fields).filter((name) => !input.fieldsToDelete.includes(name))
    const cellOf = (name: string): ModelCell => {
      return { value: input.fields[name], metadata: merged(input.metadata[name]) }
    }
    for (const name of names.filter(isPlain)) this.#plain.set(name, cellOf(name))
    const others = names.filter((name) => !isPlain(name))
    if (others.length === 0) return 'CREATED'
    this.#last = this.#first = this.#newest = this.#last + 1
    const cells = new Map(others.map((name) => [name, cellOf(name)]))
    this.#versions.set(this.#newest, { created: this.#modified, cells, gone: new Set() })
    return 'CREATED'
  }

  update(input: ModelInput, now: number, isAutosave: boolean): ModelStatus {
    if (!this.#exists) return 'NOT_FOUND'
    const tagged = this.#isTagged(this.#newest)
    const plain = new Map(this.#plain)
    const isPlainChanged = this.#change(plain, new Set(), input, isPlain)
    const before = this.#versions.get(this.#newest)
    const cells = new Map(before?.cells)
    const gone = new Set(before?.gone)
    const isChanged = this.#change(cells, gone, input, (name) => !isPlain(name))
    this.#plain = plain
    const wasAutosave = this.#isAutosave
    if (!isAutosave) this.#isAutosave = false
    const isKept = wasAutosave && !isAutosave
    if (!isChanged && !isPlainChanged && !isKept) return 'UP_TO_DATE'
    this.#modified = Math.max(now, this.#modified)
    if (!isChanged) return 'UPDATED'
    if (isAutosave && wasAutosave && !tagged && !this.#isTagged(this.#newest)) {
      this.#versions.set(this.#newest, { created: before!.created, cells, gone })
      return 'UPDATED'
    }
    const created = this.#time(now)
    this.#newest = ++this.#last
    if (this.#first === 0) this.#first = this.#newest
    this.#versions.set(this.#newest, { created, cells, gone })
    this.#isAutosave = isAutosave
    return 'UPDATED'
  }

  mutate(input: ModelInput, version: number, now: number): ModelStatus {
    if (!this.#exists) return 'NOT_FOUND'
    const own = this.#versions.get(version)
    if (own === undefined) return 'NO_VERSION'
    const isKept = this.#isAutosave && version === this.#newest
    if (isKept) this.#isAutosave = false
    let isChanged = false
    for (const [name, value] of Object.entries(input.fields)) {
      if (!isMutable(name) || input.fieldsToDelete.includes(name)) continue
      const old = own.cells.get(name)
      if (old?.value === value) continue
      isChanged = true
      const reaches = old === undefined && !own.gone.has(name)
      for (let at = version; at <= this.#newest; at++) {
        const { cells, gone } = this.#versions.get(at)!
        if (at > version && (!reaches || cells.has(name) || gone.has(name))) break
        cells.set(name, { value, metadata: {} })
        gone.delete(name)
      }
    }
    for (const name of input.fieldsToDelete) {
      if (!isMutable(name) || !own.cells.delete(name)) continue
      own.gone.add(name)
      isChanged = true
    }
    if (!isChanged && !isKept) return 'UP_TO_DATE'
    this.#modified = Math.max(now, this.#modified)
    return 'UPDATED'
  }

  delete(now: number): ModelStatus {
    if (!this.#exists) return 'NOT_FOUND'
    this.#exists = this.#isAutosave = false
    this.#modified = Math.max(now, this.#modified)
    this.#isKept = this.#keeps > 0
    if (!this.#isKept) this.#forget()
    return 'DELETED'
  }

  undelete(now: number): ModelStatus {
    if (this.#exists || !this.#isKept) return 'NOT_FOUND'
    if (now - this.#modified > this.#keeps) return 'LATE'
    this.#exists = true
    this.#modified = Math.max(now, this.#modified)
    return 'CREATED'
  }

  /** Forgets what it has kept for too long. */
  purge(now: number): void {
    if (!this.#exists && now - this.#modified > this.#keeps) this.#forget()
  }

  restore(version: number, now: number): ModelStatus {
    if (!this.#exists) return 'NOT_FOUND'
    const old = this.#versions.get(version)
    if (old === undefined) return 'NO_VERSION'
    const before = this.#versions.get(this.#newest)!
    const differs = (name: string): boolean => {
      return JSON.stringify(before.cells.get(name)) !== JSON.stringify(old.cells.get(name))
    }
    const names = new Set([...before.cells.keys(), ...old.cells.keys()])
    const wasAutosave = this.#isAutosave
    this.#isAutosave = false
    if (![...names].some(differs) && !wasAutosave) return 'UP_TO_DATE'
    this.#modified = Math.max(now, this.#modified)
    if (![...names].some(differs)) return 'UPDATED'
    const cells = new Map(old.cells)
    const gone = new Set(before.gone)
    for (const name of names) {
      if (!isMutable(name)) continue
      if (cells.has(name)) gone.delete(name)
      else gone.add(name)
    }
    const created = this.#time(now)
    this.#newest = ++this.#last
    this.#versions.set(this.#newest, { created, cells, gone })
    return 'UPDATED'
  }

  prune(keep: number, since: number | undefined, keepTagged: boolean): ModelStatus {
    if (!this.#exists) return 'NOT_FOUND'
    let first = Math.max(this.#first, this.#newest - keep + 1)
    if (since !== undefined) first = Math.min(first, this.at(since) ?? this.#first)
    for (let version = this.#first; keepTagged && version < first; version++) {
      if (version > 0 && this.#isTagged(version)) first = version
    }
    if (first <= this.#first) return 'UP_TO_DATE'
    for (let version = this.#first; version < first; version++) this.#versions.delete(version)
    this.#first = first
    return 'UPDATED'
  }

  /** The number of the version that was the newest at a time. */
  at(time: number): number | undefined {
    let found: number | undefined
    for (const [version, { created }] of this.#versions) if (created <= time) found = version
    return found
  }

  /** The version that a tag points to, as far as it is there. */
  tagged(tag: string): number | undefined {
    const version = this.#plain.get(tag)?.value
    return version === undefined ? undefined : Number(version)
  }

  /** What a version shows; undefined if there is none. */
  view(version: number): ModelView | undefined {
    const own = this.#versions.get(version)
    const isBare = this.#newest === 0 && version === 0
    if (!this.#exists || (own === undefined && !isBare)) return undefined
    const view: ModelView = { version: isBare ? undefined : version, fields: {}, metadata: {} }
    for (const [name, { value, metadata }] of [...this.#plain, ...(own?.cells ?? [])]) {
      view.fields[name] = value
      if (Object.keys(metadata).length > 0) view.metadata[name] = metadata
    }
    return view
  }

  /** The names of the fields that differ between two versions. */
  diff(from: number, to: number): string[] | undefined {
    const [a, b] = [this.#versions.get(from), this.#versions.get(to)]
    if (!this.#exists || a === undefined || b === undefined) return undefined
    const names = new Set([...a.cells.keys(), ...b.cells.keys()])
    return [...names]
      .filter((name) => JSON.stringify(a.cells.get(name)) !== JSON.stringify(b.cells.get(name)))
      .sort()
  }

  #forget(): void {
    this.#isKept = false
    this.#plain = new Map()
    this.#versions = new Map()
    this.#first = this.#newest = 0
    this.#isAutosave = false
  }

  #isTagged(version: number): boolean {
    return [...this.#plain].some(([name, { value }]) => {
      return name.startsWith('x') && Number(value) === version
    })
  }

  /** Times never go back from one version to the next. */
  #time(now: number): number {
    return Math.max(now, this.#versions.get(this.#newest)?.created ?? now)
  }

  #change(
    cells: Map<string, ModelCell>,
    gone: Set<string>,
    input: ModelInput,
    isOwn: (name: string) => boolean,
  ): boolean {
    const before = JSON.stringify([...cells].sort())
    const had = new Set(cells.keys())
    for (const [name, value] of Object.entries(input.fields)) {
      if (!isOwn(name)) continue
      const metadata = merged(cells.get(name)?.metadata, input.metadata[name])
      cells.set(name, { value, metadata })
    }
    for (const [name, metadata] of Object.entries(input.metadata)) {
      const cell = cells.get(name)
      if (!isOwn(name) || cell === undefined || name in input.fields) continue
      cells.set(name, { value: cell.value, metadata: merged(cell.metadata, metadata) })
    }
    for (const name of input.fieldsToDelete) if (isOwn(name)) cells.delete(name)
    const isChanged = JSON.stringify([...cells].sort()) !== before
    for (const name of [...Object.keys(input.fields), ...input.fieldsToDelete]) {
      if (!isMutable(name) || !isOwn(name)) continue
      if (cells.has(name)) gone.delete(name)
      else if (had.has(name)) gone.add(name)
    }
    return isChanged
  }
}
