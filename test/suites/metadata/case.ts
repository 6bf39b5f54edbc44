/** The parts of the cases: a backend with its capabilities, and readings of stores. */
import type {
  CachingStore,
  GetResult,
  MetadataStore,
  MetadataStoreConfiguration,
  Notification,
  SessionEvent,
} from '../../../src/entries/metastore-pulsar.js'
import { eventually, pause, type SuiteCase, type SuiteTest } from '../kit.js'

/** What a backend says of itself. A case that needs something else is skipped with the reason. */
export interface MetadataSuiteCapabilities {
  /** Records survive the closing of all handles. Default true. */
  readonly persistent?: boolean | undefined
  /** The space can expire the session of a handle. Default true. */
  readonly expireSession?: boolean | undefined
  /** The space can take a handle's connection away, and give it back. Default true. */
  readonly disconnect?: boolean | undefined
  /** Batches take `{ sequence }`, recursive deletes are one commit, the feed resumes. */
  readonly extensions?: boolean | undefined
}

/** One place with data that several handles can open. */
export interface MetadataSpace {
  /**
   * A handle with a session of its own; all of a space see the same records. The configuration
   * is passed on to the store, beside the backend's own.
   */
  open(configuration?: MetadataStoreConfiguration): Promise<CachingStore>
  /** Ends the session of a handle as if its time had passed. */
  expireSession?(store: MetadataStore): Promise<void>
  /**
   * Cuts the connection of a handle; its session goes on. Absent: cases about connections are left
   * out.
   */
  disconnect?(store: MetadataStore): Promise<void>
  /** Gives the connection back before the session has expired. */
  reconnect?(store: MetadataStore): Promise<void>
  /** Removes the data. Called once, after all handles were closed. */
  dispose(): Promise<void>
}

/** A backend under test. */
export interface MetadataBackend {
  /** For the names of the tests. */
  readonly name: string
  /**
   * What the backend lacks; cases that need it are left out with their reason. Default: it lacks
   * nothing.
   */
  readonly capabilities?: MetadataSuiteCapabilities | undefined
  /** A place without data. */
  create(): Promise<MetadataSpace>
  /** Names of the only cases to run. Default: all. */
  readonly only?: readonly string[]
  /** Time after which a case that has not ended fails. Default 60 seconds. */
  readonly caseMilliseconds?: number | undefined
}

/** What a case works with. */
export interface Fixture {
  readonly space: MetadataSpace
  /** A handle that all cases share. */
  readonly store: CachingStore
  /** A handle of this case's own, which the suite closes. */
  readonly open: (configuration?: MetadataStoreConfiguration) => Promise<CachingStore>
  /** A path of the first level that nothing was written to. */
  readonly fresh: () => string
}

/** One case. */
export interface MetadataCase extends SuiteCase {
  /** The capability that the case needs. */
  readonly needs?: keyof MetadataSuiteCapabilities | undefined
  run(t: SuiteTest, fixture: Fixture): Promise<void>
}

/** The value of a record as text; `none` if there is none. */
export async function textOf(store: MetadataStore, path: string): Promise<string> {
  const found = await store.get(path)
  return found === undefined ? 'none' : found.value.toString()
}

/** Joined names, for comparisons. */
export function joined(names: readonly string[]): string {
  return names.join(',')
}

/** The events of a handle below a path, as text. */
export class Events {
  readonly list: string[] = []
  readonly close: () => void

  constructor(store: MetadataStore, below: string) {
    this.close = store.registerListener(({ type, path }: Notification) => {
      if (path.startsWith(below)) this.list.push(`${type} ${path}`)
    })
  }

  /** All events so far, once there are as many as wanted and a moment has passed. */
  async after(count: number): Promise<string> {
    await eventually(() => String(this.list.length >= count), 'true')
    await pause(30)
    return joined(this.list)
  }
}

/** The session events of a handle. */
export class SessionEvents {
  readonly list: SessionEvent[] = []
  readonly close: () => void

  constructor(store: MetadataStore) {
    this.close = store.registerSessionListener((event) => this.list.push(event))
  }
}

/** Everything that a scan gives, by the last segments of the paths. */
export async function scanned(records: AsyncIterable<GetResult>): Promise<string> {
  const names: string[] = []
  for await (const { stat } of records) names.push(stat.path.slice(stat.path.lastIndexOf('/') + 1))
  return joined(names)
}
