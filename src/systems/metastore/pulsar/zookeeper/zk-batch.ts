/**
 * Batches as one multi: the nodes of all steps are read first, and the server checks their state.
 */
import { metadataError } from '../../metadata/errors.js'
import { parentOf } from '../../metadata/paths.js'
import type { BatchOperation, Expected, Stat } from '../../metadata/types.js'
import { checkCreation, checkVersion, errorOf, isOfCreation, statOfNode, ZkNodes } from './nodes.js'
import {
  CreateFlag,
  ZkError,
  type NodeStat,
  type ZkOperation,
  type ZkOutcome,
} from '../../zookeeper/protocol.js'

const attemptsMax = 10
const noData = new Uint8Array(0)

/** The state of a path while the operations of a batch are built. */
type Known = NodeStat | 'created' | undefined

/** Errors that justify a retry: a concurrent writer changed a node after it was read. */
const races: ReadonlySet<number> = new Set([ZkError.noNode, ZkError.nodeExists, ZkError.badVersion])

export class ZkBatch {
  readonly #nodes: ZkNodes
  readonly #steps: readonly BatchOperation[]
  #known = new Map<string, Known>()
  #operations: ZkOperation[] = []
  /** The step of each operation; -1 for parents. */
  #stepOf: number[] = []

  constructor(nodes: ZkNodes, steps: readonly BatchOperation[]) {
    this.#nodes = nodes
    this.#steps = steps
  }

  async run(session: () => bigint): Promise<readonly (Stat | undefined)[]> {
    for (let attempt = 1; ; attempt++) {
      const before = this.#nodes.session
      await this.#lookUp()
      this.#operations = []
      this.#stepOf = []
      this.#steps.forEach((step, i) => this.#add(step, i))
      const { outcomes, zxid } = await this.#nodes.multi(this.#operations, this.#guardOf(before))
      const failed = outcomes.findIndex(({ error }) => error !== 0 && error !== -2)
      if (failed < 0) return this.#stats(outcomes, zxid, session())
      const { error } = outcomes[failed]
      if (!races.has(error) || attempt >= attemptsMax) {
        throw errorOf(error, this.#operations[failed].path)
      }
    }
  }

  /**
   * A batch that expects a creation runs in the session that read the nodes; see `changeCreation`.
   */
  #guardOf(session: bigint): bigint | undefined {
    return this.#steps.some(({ expected }) => isOfCreation(expected)) ? session : undefined
  }

  async #lookUp(): Promise<void> {
    const paths = new Set<string>()
    for (const step of this.#steps) {
      const path = pathOf(step)
      paths.add(path)
      if (!('put' in step)) continue
      for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
        if (this.#nodes.full(above) !== '/') paths.add(above)
      }
    }
    const all = [...paths]
    const stats = await Promise.all(all.map((path) => this.#nodes.stat(path)))
    this.#known = new Map(all.map((path, i) => [path, stats[i]]))
  }

  #push(operation: ZkOperation, step: number): void {
    this.#operations.push(operation)
    this.#stepOf.push(step)
  }

  #add(step: BatchOperation, i: number): void {
    const path = pathOf(step)
    const found = this.#known.get(path)
    const expected = this.#versionOf(path, step.expected, found)
    const isRecord = found !== undefined
    if (expected === -1 && isRecord)
      throw metadataError('badVersion', `${path}: the record exists already`)
    if (!isRecord && expected !== undefined && expected >= 0) {
      throw metadataError('badVersion', `${path}: there is no record`)
    }
    // A node created by an earlier step has no known version.
    const wanted = found === 'created' ? -1 : (expected ?? -1)
    if ('put' in step) this.#put(step, i, isRecord, wanted)
    else if ('delete' in step) {
      if (!isRecord) throw metadataError('notFound', path)
      this.#push({ op: 'delete', path, version: wanted }, i)
      this.#known.set(path, undefined)
    } else if (expected === -1) {
      // ZooKeeper has no check of absence; creating and deleting the node is equivalent.
      const flags = CreateFlag.persistent
      this.#push({ op: 'create', path, data: noData, flags }, -1)
      this.#push({ op: 'delete', path, version: -1 }, -1)
    } else this.#push({ op: 'check', path, version: wanted }, i)
  }

  /** The version for the server to compare; undefined = any, -1 = absence. */
  #versionOf(path: string, expected: Expected | undefined, found: Known): number | undefined {
    if (!isOfCreation(expected)) {
      const version = expected as number | undefined
      if (version !== undefined) checkVersion(path, version)
      return version
    }
    const node = found === 'created' ? undefined : found
    checkCreation(path, node, expected.creationSequence)
    return node!.version
  }

  #put(
    step: Extract<BatchOperation, { readonly put: string }>,
    i: number,
    isRecord: boolean,
    version: number,
  ): void {
    const data = step.value as Buffer
    const path = step.put
    if (isRecord) {
      this.#push({ op: 'setData', path, data, version }, i)
      const before = this.#known.get(path)
      // Later steps expect the version after this step.
      if (typeof before === 'object') {
        this.#known.set(path, { ...before, version: before.version + 1 })
      }
      return
    }
    this.#addParents(path)
    const flags = step.ephemeral === true ? CreateFlag.ephemeral : CreateFlag.persistent
    this.#push({ op: 'create', path, data, flags }, i)
    this.#known.set(path, 'created')
  }

  #addParents(path: string): void {
    const missing: string[] = []
    for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
      if (this.#nodes.full(above) === '/' || this.#known.get(above) !== undefined) break
      missing.push(above)
    }
    for (const above of missing.reverse()) {
      const flags = CreateFlag.container
      this.#push({ op: 'create', path: above, data: noData, flags }, -1)
      this.#known.set(above, 'created')
    }
  }

  async #stats(
    outcomes: readonly ZkOutcome[],
    zxid: number,
    session: bigint,
  ): Promise<(Stat | undefined)[]> {
    const stats: (Stat | undefined)[] = this.#steps.map(() => undefined)
    for (let at = 0; at < outcomes.length; at++) {
      const i = this.#stepOf[at]
      const operation = this.#operations[at]
      if (i < 0 || !('put' in this.#steps[i])) continue
      const stat = outcomes[at].stat ?? (await this.#created(operation, zxid, session))
      stats[i] = statOfNode(operation.path, stat, session)
    }
    return stats
  }

  /** The stat of a node created by the multi, whose answer has no stat. */
  async #created(operation: ZkOperation, zxid: number, session: bigint): Promise<NodeStat> {
    const isEphemeral = operation.op === 'create' && operation.flags === CreateFlag.ephemeral
    const now = await this.#nodes.stat(operation.path)
    const isSame = now?.czxid === zxid
    return {
      czxid: zxid,
      mzxid: zxid,
      ctime: isSame ? now.ctime : 0,
      mtime: isSame ? now.ctime : 0,
      version: 0,
      owner: isEphemeral ? session : 0n,
      children: 0,
    }
  }
}

/** The path of a step. */
export function pathOf(step: BatchOperation): string {
  return 'check' in step ? step.check : 'delete' in step ? step.delete : step.put
}
