/** Puts and recursive deletes as requests to ZooKeeper. */
import { hasCode, metadataError } from '../../metadata/errors.js'
import { childOf } from '../../metadata/paths.js'
import { sequencePath } from '../store/planner.js'
import type { Expected, PutOptions, Stat } from '../../metadata/types.js'
import {
  checkCreation,
  checkVersion,
  errorOf,
  isOfCreation,
  statOfNode,
  type ZkNodes,
} from './nodes.js'
import { CreateFlag, ZkError, type NodeStat, type ZkOutcome } from '../../zookeeper/protocol.js'
import { ZkBatch } from './zk-batch.js'

/** Suffix of the record that stores the counter of sequence keys. */
export const counterSuffix = '__seq_counter__'

/** The writes of a handle; see the file header. */
export class ZkWrites {
  readonly #nodes: ZkNodes
  /** The current session of the handle. */
  readonly #session: () => bigint

  constructor(nodes: ZkNodes, session: () => bigint) {
    this.#nodes = nodes
    this.#session = session
  }

  async put(
    path: string,
    data: Buffer,
    expected: Expected | undefined,
    options: PutOptions,
  ): Promise<Stat> {
    if (options.sequenceKeysDeltas !== undefined) {
      return this.#putSequenceKey(path, data, options.sequenceKeysDeltas, options.ephemeral)
    }
    const flags = options.ephemeral === true ? CreateFlag.ephemeral : CreateFlag.persistent
    if (options.sequential === true) {
      const created = await this.#nodes.create(path, data, flags | CreateFlag.sequential)
      if (created.error !== 0) throw errorOf(created.error, path)
      return this.#statOf(created.path!, created.stat!)
    }
    if (expected === undefined) return this.#upsert(path, data, flags)
    if (expected === -1) return this.#create(path, data, flags)
    if (isOfCreation(expected)) return this.#updateCreation(path, data, expected.creationSequence)
    return this.#update(path, data, expected as number)
  }

  async delete(path: string, expected: Expected | undefined): Promise<void> {
    const { error } = isOfCreation(expected)
      ? await this.#nodes.changeCreation(path, expected.creationSequence, (version) => ({
          op: 'delete',
          path,
          version,
        }))
      : await this.#deleteVersion(path, expected as number | undefined)
    if (error !== 0) throw errorOf(error, path)
  }

  /** The newest numbers of a sequence, and the stat of its counter record. */
  async sequence(prefix: string): Promise<{ numbers: readonly bigint[]; stat: Stat | undefined }> {
    const found = await this.#nodes.record(prefix + counterSuffix)
    if (found === undefined) return { numbers: [], stat: undefined }
    return { numbers: found.value.toString().split('-').map(BigInt), stat: found.stat }
  }

  /**
   * Deletes children first, including children added during the call. Calls `onDeleted` for each.
   */
  async deleteTree(path: string, onDeleted: (path: string) => Promise<void>): Promise<void> {
    for (;;) {
      const names = await this.#nodes.children(path)
      const isServers = this.#nodes.full(path) === '/'
      const own = names.filter((name) => !isServers || name !== 'zookeeper')
      await Promise.all(own.map((name) => this.deleteTree(childOf(path, name), onDeleted)))
      if (isServers || path === '/') return
      const { error } = await this.#nodes.run({ op: 'delete', path, version: -1 })
      if (error === 0) return onDeleted(path)
      if (error === ZkError.noNode) return
      if (error !== ZkError.notEmpty) throw errorOf(error, path)
    }
  }

  async #upsert(path: string, data: Buffer, flags: number): Promise<Stat> {
    for (;;) {
      const set = await this.#nodes.run({ op: 'setData', path, data, version: -1 })
      if (set.error === 0) return this.#statOf(path, set.stat!)
      if (set.error !== ZkError.noNode) throw errorOf(set.error, path)
      const created = await this.#nodes.create(path, data, flags)
      if (created.error === 0) return this.#statOf(path, created.stat!)
      if (created.error !== ZkError.nodeExists) throw errorOf(created.error, path)
    }
  }

  async #create(path: string, data: Buffer, flags: number): Promise<Stat> {
    const created = await this.#nodes.create(path, data, flags)
    if (created.error === 0) return this.#statOf(path, created.stat!)
    throw errorOf(created.error, path)
  }

  async #deleteVersion(path: string, version: number | undefined): Promise<ZkOutcome> {
    if (version === -1) {
      // To the server, -1 means any version.
      const isThere = (await this.#nodes.stat(path)) !== undefined
      throw isThere
        ? metadataError('badVersion', `${path}: the record exists`)
        : metadataError('notFound', path)
    }
    checkVersion(path, version ?? -1)
    return this.#nodes.run({ op: 'delete', path, version: version ?? -1 })
  }

  async #updateCreation(path: string, data: Buffer, creation: number): Promise<Stat> {
    const set = await this.#nodes.changeCreation(path, creation, (version) => ({
      op: 'setData',
      path,
      data,
      version,
    }))
    if (set.error === ZkError.noNode)
      throw metadataError('badVersion', `${path}: there is no record`)
    if (set.error !== 0) throw errorOf(set.error, path)
    checkCreation(path, set.stat, creation)
    return this.#statOf(path, set.stat!)
  }

  async #update(path: string, data: Buffer, version: number): Promise<Stat> {
    checkVersion(path, version)
    const set = await this.#nodes.run({ op: 'setData', path, data, version })
    if (set.error === ZkError.noNode)
      throw metadataError('badVersion', `${path}: there is no record`)
    if (set.error !== 0) throw errorOf(set.error, path)
    return this.#statOf(path, set.stat!)
  }

  /** Writes the counter and the record as one multi. */
  async #putSequenceKey(
    prefix: string,
    value: Buffer,
    deltas: readonly number[],
    ephemeral: boolean | undefined,
  ): Promise<Stat> {
    for (;;) {
      const { numbers: before, stat } = await this.sequence(prefix)
      const numbers = deltas.map((delta, i) => (before[i] ?? 0n) + BigInt(delta))
      const all = [...numbers, ...before.slice(deltas.length)]
      const path = sequencePath(prefix, numbers)
      const counter = prefix + counterSuffix
      try {
        const [, written] = await new ZkBatch(this.#nodes, [
          { put: counter, value: Buffer.from(all.join('-')), expected: stat?.version ?? -1 },
          { put: path, value, expected: -1, ephemeral },
        ]).run(this.#session)
        return written!
      } catch (error) {
        if (!hasCode(error, 'badVersion')) throw error
      }
    }
  }

  #statOf(path: string, stat: NodeStat): Stat {
    return statOfNode(path, stat, this.#session())
  }
}
