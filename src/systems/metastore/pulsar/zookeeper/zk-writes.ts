/** Puts and recursive deletes as requests to ZooKeeper. */
import { hasCode, metadataError } from '../../metadata/errors.js'
import { childOf } from '../../metadata/paths.js'
import type { Expected, PutOptions, Stat } from '../../metadata/types.js'
import { CreateFlag, ZkError, type ZkOperation, type ZkOutcome } from '../../zookeeper/protocol.js'
import { nextNumbers, sequencePath } from '../store/planner.js'
import { checkVersion, errorOf, isOfCreation, statOfNode, type ZkNodes } from './nodes.js'
import { attemptsMax, races, runBatch, versionOf } from './zk-batch.js'

/** Suffix of the record that stores the counter of sequence keys. */
export const counterSuffix = '__seq_counter__'

/** The bytes of a counter record. */
const counterText = /^\d+(-\d+)*$/

/** Name of a node that belongs to the server. */
export const serverNode = 'zookeeper'

/** The writes of a handle; see the file header. */
export class ZkWrites {
  readonly #nodes: ZkNodes

  constructor(nodes: ZkNodes) {
    this.#nodes = nodes
  }

  async put(
    path: string,
    data: Buffer,
    expected: Expected | undefined,
    options: PutOptions,
  ): Promise<Stat> {
    const { ephemeral, sequential, sequenceKeysDeltas } = options
    if (sequenceKeysDeltas !== undefined) {
      return this.#putSequenceKey(path, data, sequenceKeysDeltas, ephemeral)
    }
    if (isOfCreation(expected)) {
      const outcome = await this.#changeCreation({ op: 'setData', path, data }, expected)
      // Another record may have taken the place between both requests.
      versionOf(path, expected, outcome.stat)
      return this.#statOf(path, outcome)
    }
    const flags = ephemeral === true ? CreateFlag.ephemeral : CreateFlag.persistent
    if (sequential === true) return this.#create(path, data, flags | CreateFlag.sequential)
    if (expected === -1) return this.#create(path, data, flags)
    if (expected !== undefined) return this.#update(path, data, expected as number)
    for (;;) {
      try {
        return await this.#update(path, data, -1)
      } catch (error) {
        if (!hasCode(error, 'notFound')) throw error
      }
      const created = await this.#nodes.create(path, data, flags)
      if (created.error !== ZkError.nodeExists) return this.#statOf(path, created)
    }
  }

  async delete(path: string, expected: Expected | undefined): Promise<void> {
    if (isOfCreation(expected)) {
      await this.#changeCreation({ op: 'delete', path }, expected)
      return
    }
    const version = (expected as number | undefined) ?? -1
    if (expected === -1) {
      // To the server, -1 means any version.
      const isThere = (await this.#nodes.stat(path)) !== undefined
      throw errorOf(isThere ? ZkError.nodeExists : ZkError.noNode, path)
    }
    checkVersion(path, version)
    const { error } = await this.#nodes.run({ op: 'delete', path, version })
    if (error !== 0) throw errorOf(error, path)
  }

  /** The newest numbers of a sequence, and the stat of its counter record. */
  async sequence(prefix: string): Promise<{ numbers: readonly bigint[]; stat: Stat | undefined }> {
    const found = await this.#nodes.record(prefix + counterSuffix)
    if (found === undefined) return { numbers: [], stat: undefined }
    const text = found.value.toString()
    if (!counterText.test(text)) throw metadataError('contentDeserialization', found.stat.path)
    return { numbers: text.split('-').map(BigInt), stat: found.stat }
  }

  /**
   * Deletes children first, including children added during the call. Calls `onDeleted` for each.
   */
  async deleteTree(path: string, onDeleted: (path: string) => Promise<void>): Promise<void> {
    for (;;) {
      const names = await this.#nodes.children(path)
      const isServers = this.#nodes.full(path) === '/'
      const own = names.filter((name) => !isServers || name !== serverNode)
      await Promise.all(own.map((name) => this.deleteTree(childOf(path, name), onDeleted)))
      if (isServers || path === '/') return
      const { error } = await this.#nodes.run({ op: 'delete', path, version: -1 })
      if (error === 0) return onDeleted(path)
      if (error === ZkError.noNode) return
      if (error !== ZkError.notEmpty) throw errorOf(error, path)
    }
  }

  /** Changes the record with an expected creation, in any version; see `zk-batch.ts`. */
  async #changeCreation(operation: ZkOperation, expected: Expected): Promise<ZkOutcome> {
    const { path } = operation
    for (let attempt = 1; ; attempt++) {
      const { session } = this.#nodes
      const version = versionOf(path, expected, await this.#nodes.stat(path))!
      const outcome = await this.#nodes.run({ ...operation, version }, session)
      if (outcome.error === 0) return outcome
      if (!races.has(outcome.error) || attempt >= attemptsMax) throw errorOf(outcome.error, path)
    }
  }

  async #create(path: string, data: Buffer, flags: number): Promise<Stat> {
    return this.#statOf(path, await this.#nodes.create(path, data, flags))
  }

  async #update(path: string, data: Buffer, version: number): Promise<Stat> {
    checkVersion(path, version)
    const outcome = await this.#nodes.run({ op: 'setData', path, data, version })
    if (outcome.error === ZkError.noNode && version >= 0) {
      throw metadataError('badVersion', `${path}: there is no record`)
    }
    return this.#statOf(path, outcome)
  }

  /** Writes the counter and the record as one multi. */
  async #putSequenceKey(
    prefix: string,
    value: Buffer,
    deltas: readonly number[],
    ephemeral: boolean | undefined,
  ): Promise<Stat> {
    for (let isRepeated = false; ; isRepeated = true) {
      const { numbers: before, stat } = await this.sequence(prefix)
      let numbers = nextNumbers(prefix, before, deltas)
      // A plain put may have created a record at the numbered path, or the counter was deleted.
      while (isRepeated && (await this.#nodes.stat(sequencePath(prefix, numbers))) !== undefined) {
        numbers = nextNumbers(prefix, numbers, deltas)
      }
      const path = sequencePath(prefix, numbers)
      const counter = prefix + counterSuffix
      try {
        const [, written] = await runBatch(this.#nodes, [
          { put: counter, value: Buffer.from(numbers.join('-')), expected: stat?.version ?? -1 },
          { put: path, value, expected: -1, ephemeral },
        ])
        return written!
      } catch (error) {
        if (!hasCode(error, 'badVersion')) throw error
      }
    }
  }

  /** The stat of a written record, whose path the server may have completed. */
  #statOf(path: string, { error, path: stored = path, stat }: ZkOutcome): Stat {
    if (error !== 0) throw errorOf(error, path)
    return statOfNode(stored, stat!, this.#nodes.session)
  }
}
