/**
 * Records as nodes of ZooKeeper, in Pulsar's form.
 *
 * Implied parents are containers, which the server removes some time after their last child. A
 * client cannot distinguish a container from a record without bytes.
 */
import { MetadataStoreError, metadataError } from '../../metadata/errors.js'
import { parentOf } from '../../metadata/paths.js'
import type { Expected, GetResult, Stat } from '../../metadata/types.js'
import type { ZkClient } from '../../zookeeper/client.js'
import type { JuteWriter } from '../../zookeeper/jute.js'
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
} from '../../zookeeper/protocol.js'

const noData = new Uint8Array(0)
/** Attempts to change a record with concurrent writers. */
const attemptsMax = 10

/** The stat of a record for the handle with a given session. */
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

/** The error for an error code of ZooKeeper. */
export function errorOf(code: number, path: string): MetadataStoreError {
  switch (code) {
    case ZkError.noNode:
      return metadataError('notFound', path)
    case ZkError.badVersion:
      return metadataError('badVersion', `${path}: another version`)
    case ZkError.nodeExists:
      return metadataError('badVersion', `${path}: the record exists already`)
    case ZkError.notEmpty:
      return metadataError('notEmpty', path)
    case ZkError.noChildrenForEphemerals:
      return metadataError('noChildrenForEphemerals', path)
    case ZkError.connectionLoss:
      return metadataError('connectionLost')
    case ZkError.sessionExpired:
      return metadataError('sessionLost')
    case ZkError.badArguments:
      return metadataError('invalidPath', `ZooKeeper refuses the path ${path}`)
    default: {
      const message = `${path}: error ${code} of ZooKeeper`
      return metadataError('storeFailure', message)
    }
  }
}

/** The greatest version: versions of ZooKeeper have 32 bits. */
const versionMax = 2 ** 31 - 1

/** Whether an expectation names a creation. Throws for an expectation of a sequence. */
export function isOfCreation(
  expected: Expected | undefined,
): expected is { readonly creationSequence: number } {
  if (typeof expected !== 'object') return false
  if ('creationSequence' in expected) return true
  throw metadataError('unsupported', 'expectations of sequences')
}

/** Throws unless a node has the expected creation. */
export function checkCreation(path: string, found: NodeStat | undefined, wanted: number): void {
  if (found === undefined) throw metadataError('badVersion', `${path}: there is no record`)
  if (found.czxid === wanted) return
  throw metadataError('badVersion', `${path}: creation ${found.czxid}, expected ${wanted}`)
}

/** Throws for a version above the greatest version of a node. */
export function checkVersion(path: string, version: number): void {
  if (version <= versionMax) return
  throw metadataError('badVersion', `${path}: expected ${version}, above all versions of ZooKeeper`)
}

/** The operations of a store below a root. */
export class ZkNodes {
  readonly #client: ZkClient
  readonly #root: string

  /** `root` is the prefix of all paths; empty = none. */
  constructor(client: ZkClient, root: string) {
    this.#client = client
    this.#root = root
  }

  /** The path on the server. */
  full(path: string): string {
    if (this.#root === '') return path
    return path === '/' ? this.#root : this.#root + path
  }

  /** The path in the store. */
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

  /** The current session of the handle. */
  get session(): bigint {
    return this.#client.sessionId
  }

  /**
   * Changes the record with an expected creation, in any version.
   *
   * The server cannot compare creations. The handle reads creation and version; the server then
   * compares the version. Both requests run in the same session. If the record belongs to this
   * session, only a forced deletion by another client allows another record in its place.
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
      // A concurrent writer changed the version after the read.
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

  /** Performs an operation; paths are those of the store. With `session`, only in that session. */
  async run(operation: ZkOperation, session?: bigint): Promise<ZkOutcome> {
    const code = codeOf(operation)
    const full = { ...operation, path: this.full(operation.path) }
    const write = (writer: JuteWriter): void => writeOperation(writer, full)
    const { error, reader } = await this.#client.request(code, write, session)
    if (error !== 0) return { error }
    const outcome = readOutcome(reader, code)
    return outcome.path === undefined ? outcome : { ...outcome, path: this.own(outcome.path) }
  }

  /** Performs all operations or none. With `session`, only in that session. */
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

  /** Creates the missing ancestors of a path, including the root of the store and its ancestors. */
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
