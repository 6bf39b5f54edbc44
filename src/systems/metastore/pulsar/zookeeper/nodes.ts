/**
 * Records as nodes of ZooKeeper, in the form that Pulsar gives them.
 *
 * Parents that nobody has put are containers, which the server removes some time after they have
 * lost their last child. A client cannot tell a container from a record without bytes.
 */
import {
  BadVersionError,
  ConnectionLostError,
  InvalidPathError,
  MetadataErrorCode,
  MetadataStoreError,
  NoChildrenForEphemeralsError,
  NotEmptyError,
  NotFoundError,
  SessionLostError,
  UnsupportedError,
} from '../errors.js'
import { parentOf } from '../paths.js'
import type { Expected, GetResult, Stat } from '../types.js'
import type { ZkClient } from './client.js'
import type { JuteWriter } from './jute.js'
import {
  codeOf,
  CreateFlag,
  OpCode,
  readMulti,
  readOutcome,
  readStat,
  writeMulti,
  writeOperation,
  ZkError,
  type NodeStat,
  type ZkOperation,
  type ZkOutcome,
} from './protocol.js'

const noData = new Uint8Array(0)
/** Attempts to change a record that others write, too. */
const attemptsMax = 10

/** What a handle sees of a node that is a record. */
export function statOfNode(path: string, stat: NodeStat, session: bigint): Stat {
  const { version } = stat
  const isEphemeral = stat.owner !== 0n
  return {
    path,
    version,
    creationTimestamp: stat.ctime,
    modificationTimestamp: stat.mtime,
    ephemeral: isEphemeral,
    createdBySelf: isEphemeral && stat.owner === session,
    firstVersion: version === 0,
    sequence: stat.mzxid,
    creationSequence: stat.czxid,
  }
}

/** The error for a number of ZooKeeper. */
export function errorOf(code: number, path: string): MetadataStoreError {
  switch (code) {
    case ZkError.noNode:
      return new NotFoundError(path)
    case ZkError.badVersion:
      return new BadVersionError(path, 'another version')
    case ZkError.nodeExists:
      return new BadVersionError(path, 'the record exists already')
    case ZkError.notEmpty:
      return new NotEmptyError(path)
    case ZkError.noChildrenForEphemerals:
      return new NoChildrenForEphemeralsError(path)
    case ZkError.connectionLoss:
      return new ConnectionLostError()
    case ZkError.sessionExpired:
      return new SessionLostError()
    case ZkError.badArguments:
      return new InvalidPathError(`ZooKeeper refuses the path ${path}`)
    default: {
      const message = `${path}: error ${code} of ZooKeeper`
      return new MetadataStoreError(MetadataErrorCode.storeFailure, message)
    }
  }
}

/** What the server compares: versions and times of ZooKeeper are 32 bits wide. */
const versionMax = 2 ** 31 - 1

/** Whether an expectation names a creation. Refuses expectations of sequences. */
export function isOfCreation(
  expected: Expected | undefined,
): expected is { readonly creationSequence: number } {
  if (typeof expected !== 'object') return false
  if ('creationSequence' in expected) return true
  throw new UnsupportedError('expectations of sequences')
}

/** Fails unless a node was created as expected. */
export function checkCreation(path: string, found: NodeStat | undefined, wanted: number): void {
  if (found === undefined) throw new BadVersionError(path, 'there is no record')
  if (found.czxid === wanted) return
  throw new BadVersionError(path, `creation ${found.czxid}, expected ${wanted}`)
}

/** Fails for a version that no node can have. */
export function checkVersion(path: string, version: number): void {
  if (version <= versionMax) return
  throw new BadVersionError(path, `expected ${version}, above all versions of ZooKeeper`)
}

/** The operations of a store below a root. */
export class ZkNodes {
  readonly #client: ZkClient
  readonly #root: string

  /** `root` is a path in front of all others; empty = none. */
  constructor(client: ZkClient, root: string) {
    this.#client = client
    this.#root = root
  }

  /** The path of the server. */
  full(path: string): string {
    if (this.#root === '') return path
    return path === '/' ? this.#root : this.#root + path
  }

  /** The path of the store. */
  own(full: string): string {
    return full.length === this.#root.length ? '/' : full.slice(this.#root.length)
  }

  /** A node with its bytes; undefined if there is none. */
  async get(path: string): Promise<{ data: Buffer; stat: NodeStat } | undefined> {
    const full = this.full(path)
    const answer = await this.#client.request(OpCode.getData, (w) => w.text(full).bool(false))
    if (answer.error === ZkError.noNode) return undefined
    if (answer.error !== 0) throw errorOf(answer.error, path)
    const data = Buffer.from(answer.reader.buffer())
    return { data, stat: readStat(answer.reader) }
  }

  /** A record; undefined if there is none. */
  async record(path: string): Promise<GetResult | undefined> {
    const found = await this.get(path)
    if (found === undefined) return undefined
    return { value: found.data, stat: statOfNode(path, found.stat, this.#client.sessionId) }
  }

  /** Session of the handle at the moment. */
  get session(): bigint {
    return this.#client.sessionId
  }

  /**
   * Carries out a change of the record that was created as expected, whatever its version.
   *
   * The server compares no creations. The creation is looked up, and the version that was found is
   * compared by the server, both in one session. So if the record belongs to this session, none but
   * somebody who deletes the record by force can have put another in its place.
   */
  async changeCreation(
    path: string,
    creation: number,
    change: (version: number) => ZkOperation,
  ): Promise<ZkOutcome> {
    for (let attempt = 1; ; attempt++) {
      const { session } = this
      const found = await this.stat(path)
      checkCreation(path, found, creation)
      const outcome = await this.run(change(found!.version), session)
      // Another writer of the same record was faster than the look-up.
      if (outcome.error !== ZkError.badVersion || attempt >= attemptsMax) return outcome
    }
  }

  async stat(path: string): Promise<NodeStat | undefined> {
    const full = this.full(path)
    const answer = await this.#client.request(OpCode.exists, (w) => w.text(full).bool(false))
    if (answer.error === ZkError.noNode) return undefined
    if (answer.error !== 0) throw errorOf(answer.error, path)
    return readStat(answer.reader)
  }

  async children(path: string): Promise<string[]> {
    const full = this.full(path)
    const answer = await this.#client.request(OpCode.getChildren, (w) => w.text(full).bool(false))
    if (answer.error === ZkError.noNode) return []
    if (answer.error !== 0) throw errorOf(answer.error, path)
    const count = answer.reader.int()
    return Array.from({ length: Math.max(0, count) }, () => answer.reader.text())
  }

  async sync(path: string): Promise<void> {
    const answer = await this.#client.request(OpCode.sync, (w) => w.text(this.full(path)))
    if (answer.error !== 0) throw errorOf(answer.error, path)
  }

  /**
   * Carries out an operation; paths are those of the store. With `session` in that session or not
   * at all.
   */
  async run(operation: ZkOperation, session?: bigint): Promise<ZkOutcome> {
    const code = codeOf(operation)
    const full = { ...operation, path: this.full(operation.path) }
    const write = (writer: JuteWriter): void => writeOperation(writer, full)
    const { error, reader } = await this.#client.request(code, write, session)
    if (error !== 0) return { error }
    const outcome = readOutcome(reader, code)
    return outcome.path === undefined ? outcome : { ...outcome, path: this.own(outcome.path) }
  }

  /** Carries out all operations or none. With `session` in that session or not at all. */
  async multi(
    operations: readonly ZkOperation[],
    session?: bigint,
  ): Promise<{ outcomes: ZkOutcome[]; zxid: number }> {
    const full = operations.map((each) => ({ ...each, path: this.full(each.path) }))
    const write = (writer: JuteWriter): void => writeMulti(writer, full)
    const answer = await this.#client.request(OpCode.multi, write, session)
    const { error, reader, zxid } = answer
    if (error !== 0 && !reader.hasMore) throw errorOf(error, operations[0].path)
    return { outcomes: readMulti(reader), zxid: Number(zxid) }
  }

  /** Creates a node, and its parents as containers. */
  async create(path: string, data: Uint8Array, flags: number): Promise<ZkOutcome> {
    for (;;) {
      const outcome = await this.run({ op: 'create', path, data, flags })
      if (outcome.error !== ZkError.noNode) return outcome
      await this.createParents(path)
    }
  }

  /** Creates what is missing above a path, the root of the store and what is above it included. */
  async createParents(path: string): Promise<void> {
    const missing: string[] = []
    for (let above = parentOf(this.full(path)); above !== undefined; above = parentOf(above)) {
      if (above !== '/') missing.push(above)
    }
    for (const above of missing.reverse()) {
      const container = { op: 'create', data: noData, flags: CreateFlag.container } as const
      const { error } = await this.#client.request(OpCode.createContainer, (w) =>
        writeOperation(w, { ...container, path: above }),
      )
      if (error !== 0 && error !== ZkError.nodeExists) throw errorOf(error, path)
    }
  }
}
