/**
 * Records as nodes of ZooKeeper, in Pulsar's form.
 *
 * Implied parents are containers, which the server removes some time after their last child. A
 * client cannot distinguish a container from a record without bytes.
 */
import { assert, type CellarError } from '../../../../api/index.js'
import { metadataError } from '../../metadata/errors.js'
import { parentOf } from '../../metadata/paths.js'
import type { Expected, GetResult, Stat } from '../../metadata/types.js'
import type { ZkClient } from '../../zookeeper/client.js'
import {
  CreateFlag,
  type JuteReader,
  type JuteWriter,
  type NodeStat,
  OpCode,
  readMulti,
  readOutcome,
  readStat,
  writeMulti,
  writeOperation,
  ZkError,
  type ZkOperation,
  type ZkOutcome,
} from '../../zookeeper/protocol.js'

/** The bytes of a container. */
export const noData = new Uint8Array(0)

/** The stat of a record for the handle with a given session. */
export function statOfNode(path: string, stat: NodeStat, session: bigint): Stat {
  const { version, owner } = stat
  return {
    path,
    version,
    creationTimestamp: stat.ctime,
    modificationTimestamp: stat.mtime,
    ephemeral: owner !== 0n,
    createdBySelf: owner !== 0n && owner === session,
    firstVersion: version === 0,
    sequence: stat.mzxid,
    creationSequence: stat.czxid,
  }
}

const errors: Readonly<Record<number, (path: string) => CellarError>> = {
  [ZkError.noNode]: (path) => metadataError('notFound', path),
  [ZkError.badVersion]: (path) => metadataError('badVersion', `${path}: another version`),
  [ZkError.nodeExists]: (path) => metadataError('badVersion', `${path}: the record exists already`),
  [ZkError.notEmpty]: (path) => metadataError('notEmpty', path),
  [ZkError.noChildrenForEphemerals]: (path) => metadataError('noChildrenForEphemerals', path),
  [ZkError.connectionLoss]: () => metadataError('connectionLost'),
  [ZkError.sessionExpired]: () => metadataError('sessionLost'),
  [ZkError.badArguments]: (path) =>
    metadataError('invalidPath', `ZooKeeper refuses the path ${path}`),
}

/** The error for an error code of ZooKeeper. */
export function errorOf(code: number, path: string): CellarError {
  const known = errors[code]?.(path)
  return known ?? metadataError('storeFailure', `${path}: error ${code} of ZooKeeper`)
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

/** Throws for a version above the greatest version of a node. */
export function checkVersion(path: string, version: number): void {
  if (version <= versionMax) return
  const message = `${path}: expected ${version}, above all versions of ZooKeeper`
  throw metadataError('badVersion', message)
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
    assert(full.startsWith(this.#root), 'a store has the paths below its root')
    return full.length === this.#root.length ? '/' : full.slice(this.#root.length)
  }

  /** The current session of the handle. */
  get session(): bigint {
    return this.#client.sessionId
  }

  /** A record; undefined if there is none. */
  async record(path: string): Promise<GetResult | undefined> {
    const reader = await this.#ask(OpCode.getData, path)
    if (reader === undefined) return undefined
    const value = Buffer.from(reader.buffer())
    return { value, stat: statOfNode(path, readStat(reader), this.session) }
  }

  async stat(path: string): Promise<NodeStat | undefined> {
    const reader = await this.#ask(OpCode.exists, path)
    return reader && readStat(reader)
  }

  async children(path: string): Promise<string[]> {
    const reader = await this.#ask(OpCode.getChildren, path)
    if (reader === undefined) return []
    return Array.from({ length: Math.max(0, reader.int32()) }, () => reader.text())
  }

  async sync(path: string): Promise<void> {
    const answer = await this.#client.request(OpCode.sync, (w) => w.text(this.full(path)))
    if (answer.error !== 0) throw errorOf(answer.error, path)
  }

  /** The answer to a question about a node, without a watch; undefined if there is no node. */
  async #ask(code: number, path: string): Promise<JuteReader | undefined> {
    const full = this.full(path)
    const { error, reader } = await this.#client.request(code, (w) => w.text(full).bool(false))
    if (error === ZkError.noNode) return undefined
    if (error !== 0) throw errorOf(error, path)
    return reader
  }

  /** Performs an operation; paths are those of the store. With `session`, only in that session. */
  async run(operation: ZkOperation, session?: bigint): Promise<ZkOutcome> {
    const code = OpCode[operation.op]
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
    if (error !== 0 && reader.isAtEnd) throw errorOf(error, operations[0].path)
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
      const container = { path: above, data: noData, flags: CreateFlag.container }
      const { error } = await this.#client.request(OpCode.createContainer, (w) =>
        writeOperation(w, { op: 'createContainer', ...container }),
      )
      if (error !== 0 && error !== ZkError.nodeExists) throw errorOf(error, path)
    }
  }
}
