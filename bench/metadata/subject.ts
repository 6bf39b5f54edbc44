/** What is measured on every store of metadata, in the least common form. */

/** Answers to a put: the new version, or undefined if the record had another one. */
export type Version = number | undefined

/** Records of one session. */
export interface EphemeralOwner {
  put(path: string): Promise<void>
  /** Ends the session; the records go. */
  expire(): Promise<void>
}

/** A store under measurement. */
export interface Subject {
  /** Durable when it resolves. `expected` is a version. */
  put(path: string, value: Buffer, expected?: number): Promise<Version>
  get(path: string): Promise<{ readonly value: Buffer; readonly version: number } | undefined>
  /** Sorted, past every cache. */
  children(path: string): Promise<string[]>
  /** Calls a function for every change of a record. */
  listen(listener: (type: string, path: string) => void): void
  /** A session; absent where there are none. */
  openSession?(): Promise<EphemeralOwner>
  /** Loads records fast where single puts would take hours; absent = by puts. */
  loadMany?(records: readonly (readonly [string, Buffer])[]): Promise<void>
  close(): Promise<void>
}

/** What a subject is opened with. */
export interface SubjectSettings {
  readonly directory: string
  readonly cacheBytes: number
}

/** A subject by name. */
export interface SubjectEntry {
  readonly name: string
  readonly isPeer: boolean
  /** Whether an acknowledged put survives the loss of power. */
  readonly isDurable: boolean
  /** Puts are made one after the other with a sync each, however many wait: fewer are measured. */
  readonly isSerial: boolean
  /** Only puts: what the others can be at best. */
  readonly isLimit?: boolean
  /** Throws if it cannot be used here. */
  version(): string
  open(settings: SubjectSettings): Promise<Subject>
}
