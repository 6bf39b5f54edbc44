/** What is measured on every engine, in the form that answers fastest. */
import type { BenchDocument } from './documents.js'

/** A value at once, or later. */
export type Awaitable<T> = T | Promise<T>

/** A workload that only one engine has: what it did, and how long. */
export interface OwnWorkload {
  readonly name: string
  /** Runs it; the number of operations. `call` notes the time of one of them. */
  run(call: <T>(call: () => Promise<T>) => Promise<T>): Promise<number>
}

/** An engine under measurement. What was acknowledged survives the end of the process. */
export interface Subject {
  /** Creates many documents as fast as the engine can. */
  load?(documents: readonly BenchDocument[]): Awaitable<unknown>
  create?(document: BenchDocument): Awaitable<unknown>
  read?(id: string): Awaitable<unknown>
  /** The document of what {@link read} gives; not measured. */
  documentOf?(read: unknown): BenchDocument | undefined
  /** Sets the counter if it has the expected value. */
  change?(id: string, expected: number, next: number): Awaitable<boolean>
  /** Changes the title, and keeps the document as it was as an older version. */
  addVersion?(id: string, title: string): Awaitable<unknown>
  /** The title of a version; 1 is the first. */
  readVersion?(id: string, version: number): Awaitable<string | undefined>
  /** Reads all documents in the order of their ids; how many there are and the sum of the years. */
  scan?(): Awaitable<readonly [number, number]>
  /** Ids of documents from one year on, by year and id. */
  find?(year: number, limit: number): Awaitable<readonly string[]>
  /** How many documents have both words in their title or body. */
  prepareSearch?(documents: readonly BenchDocument[]): Awaitable<unknown>
  search?(words: readonly [string, string]): Awaitable<number>
  /** What was indexed need not follow later writes. */
  endSearch?(): Awaitable<unknown>
  writeBlob?(pieces: AsyncIterable<Buffer>): Promise<unknown>
  /** The bytes of a blob, in pieces; how many there are. */
  readBlob?(blob: unknown, piece: (bytes: Buffer) => void): Awaitable<number>
  readonly own?: readonly OwnWorkload[] | undefined
  close(): Awaitable<unknown>
}

/** An engine by name. */
export interface SubjectEntry {
  readonly name: string
  readonly isPeer: boolean
  /** Throws if it cannot be used here. */
  version(): string
  open(directory: string): Promise<Subject>
}
