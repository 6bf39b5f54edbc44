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
  NotEmptyError,
  NotFoundError,
  SessionLostError,
  UnsupportedError,
} from '../errors.js'
import { parentOf } from '../paths.js'
import type { Expected, GetResult, Stat } from '../types.js'
import type { ZkClient } from './client.js'
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

/** The version that an expectation names; undefined = any, -1 = absence. */
export function expectedVersion(expected: Expected | undefined): number | undefined {
  if (typeof expected !== 'object') return expected
  throw new UnsupportedError('expectations of sequences')
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

  /** Carries out an operation; paths are those of the store. */
  async run(operation: ZkOperation): Promise<ZkOutcome> {
    const code = codeOf(operation)
    const full = { ...operation, path: this.full(operation.path) }
    const { error, reader } = await this.#client.request(code, (w) => writeOperation(w, full))
    if (error !== 0) return { error }
    const outcome = readOutcome(reader, code)
    return outcome.path === undefined ? outcome : { ...outcome, path: this.own(outcome.path) }
  }

  /** Carries out all operations or none. */
  async multi(
    operations: readonly ZkOperation[],
  ): Promise<{ outcomes: ZkOutcome[]; zxid: number }> {
    const full = operations.map((each) => ({ ...each, path: this.full(each.path) }))
    const answer = await this.#client.request(OpCode.multi, (w) => writeMulti(w, full))
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

  /** Creates what is missing above a path. */
  async createParents(path: string): Promise<void> {
    const missing: string[] = []
    for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
      missing.push(above)
    }
    // The root of the store, too, is a node of the server.
    for (const above of missing.reverse()) {
      if (this.full(above) === '/') continue
      const flags = CreateFlag.container
      const { error } = await this.run({ op: 'create', path: above, data: noData, flags })
      if (error !== 0 && error !== ZkError.nodeExists) throw errorOf(error, above)
    }
  }
}
