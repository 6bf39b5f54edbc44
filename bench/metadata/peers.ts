/**
 * Metadata stores as somebody would write them over a peer: a header with the version in front of
 * the value, checks against what is on its way to the disk, events when it is there.
 */
import type { EphemeralOwner, Subject, Version } from './subject.js'

/** The peer. Writes are kept in their order and acknowledged when they are durable. */
export interface PeerRecords {
  get(key: Buffer): Buffer | undefined
  write(key: Buffer, value: Buffer | undefined): Promise<void>
  children(path: string): Promise<string[]>
  writeMany?(puts: readonly (readonly [Buffer, Buffer])[]): Promise<void>
  close(): Promise<void>
}

/** As long as the header of Pulsar's RocksDB store; the version is in its first eight bytes. */
const headerBytes = 41

function stored(version: number, value: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(headerBytes + value.length)
  bytes.fill(0, 0, headerBytes)
  bytes.writeDoubleBE(version, 0)
  bytes.writeDoubleBE(Date.now(), 8)
  value.copy(bytes, headerBytes)
  return bytes
}

type Listener = (type: string, path: string) => void

/** Records over a peer. */
export class PeerSubject implements Subject {
  readonly #records: PeerRecords
  /** Versions that are not durable yet, with the number of writes under way. */
  readonly #pending = new Map<string, { version: number; writes: number }>()
  readonly #listeners: Listener[] = []
  readonly openSession?: () => Promise<EphemeralOwner>
  readonly loadMany?: (records: readonly (readonly [string, Buffer])[]) => Promise<void>

  constructor(records: PeerRecords, hasSessions: boolean) {
    this.#records = records
    if (hasSessions) this.openSession = () => Promise.resolve(this.#session())
    if (records.writeMany !== undefined) {
      this.loadMany = (all) =>
        records.writeMany!(all.map(([path, value]) => [Buffer.from(path), stored(0, value)]))
    }
  }

  async put(path: string, value: Buffer, expected?: number): Promise<Version> {
    const key = Buffer.from(path)
    const pending = this.#pending.get(path)
    const before = pending?.version ?? this.#records.get(key)?.readDoubleBE(0) ?? -1
    if (expected !== undefined && expected !== before) return undefined
    const version = before + 1
    if (pending === undefined) this.#pending.set(path, { version, writes: 1 })
    else {
      pending.version = version
      pending.writes++
    }
    await this.#records.write(key, stored(version, value))
    const written = this.#pending.get(path)!
    if (--written.writes === 0) this.#pending.delete(path)
    this.#tell(version === 0 ? 'Created' : 'Modified', path)
    return version
  }

  async get(path: string): Promise<{ value: Buffer; version: number } | undefined> {
    const found = this.#records.get(Buffer.from(path))
    if (found === undefined) return undefined
    return { value: found.subarray(headerBytes), version: found.readDoubleBE(0) }
  }

  children(path: string): Promise<string[]> {
    return this.#records.children(path)
  }

  listen(listener: Listener): void {
    this.#listeners.push(listener)
  }

  close(): Promise<void> {
    return this.#records.close()
  }

  #session(): EphemeralOwner {
    const owned: string[] = []
    return {
      put: async (path) => {
        await this.put(path, Buffer.alloc(0))
        owned.push(path)
      },
      expire: async () => {
        await Promise.all(owned.map((path) => this.#records.write(Buffer.from(path), undefined)))
        for (const path of owned) this.#tell('Deleted', path)
      },
    }
  }

  #tell(type: string, path: string): void {
    for (const listener of this.#listeners) listener(type, path)
  }
}

/** Names of direct children by one seek each: past a child lie its descendants, before `child0`. */
export function childrenBySeek(
  path: string,
  firstFrom: (start: Buffer) => Buffer | undefined,
): string[] {
  const prefix = `${path}/`
  const names: string[] = []
  let start = prefix
  for (;;) {
    const found = firstFrom(Buffer.from(start))?.toString()
    if (found === undefined || !found.startsWith(prefix)) return names
    const slash = found.indexOf('/', prefix.length)
    const name = slash < 0 ? found.slice(prefix.length) : found.slice(prefix.length, slash)
    if (names.at(-1) !== name) names.push(name)
    start = slash < 0 ? `${found}\0` : `${prefix}${name}0`
  }
}

/** Records in a `Map`, with the children of each path: the ceiling. */
export class MapSubject implements Subject {
  readonly #records = new Map<string, { value: Buffer; version: number }>()
  readonly #children = new Map<string, Set<string>>()
  readonly #listeners: Listener[] = []

  async put(path: string, value: Buffer, expected?: number): Promise<Version> {
    const before = this.#records.get(path)
    if (expected !== undefined && expected !== (before?.version ?? -1)) return undefined
    const version = (before?.version ?? -1) + 1
    this.#records.set(path, { value: Buffer.from(value), version })
    if (before === undefined) this.#addToParents(path)
    this.#tell(before === undefined ? 'Created' : 'Modified', path)
    return version
  }

  async get(path: string): Promise<{ value: Buffer; version: number } | undefined> {
    return this.#records.get(path)
  }

  async children(path: string): Promise<string[]> {
    return [...(this.#children.get(path) ?? [])].sort()
  }

  listen(listener: Listener): void {
    this.#listeners.push(listener)
  }

  async openSession(): Promise<EphemeralOwner> {
    const owned: string[] = []
    return {
      put: async (path) => {
        await this.put(path, Buffer.alloc(0))
        owned.push(path)
      },
      expire: async () => {
        for (const path of owned) {
          this.#records.delete(path)
          this.#tell('Deleted', path)
        }
      },
    }
  }

  async close(): Promise<void> {
    this.#records.clear()
  }

  #addToParents(path: string): void {
    for (let child = path; ;) {
      const slash = child.lastIndexOf('/')
      if (slash <= 0) return
      const parent = child.slice(0, slash)
      const name = child.slice(slash + 1)
      const names = this.#children.get(parent)
      if (names?.has(name) === true) return
      if (names === undefined) this.#children.set(parent, new Set([name]))
      else names.add(name)
      child = parent
    }
  }

  #tell(type: string, path: string): void {
    for (const listener of this.#listeners) listener(type, path)
  }
}
