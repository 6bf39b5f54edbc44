/**
 * Batches as one multi: the nodes of all steps are read first, and the server checks their state.
 *
 * The server cannot compare creations. The handle reads creation and version; the server then
 * compares the version. Both requests run in the same session. If the record belongs to this
 * session, only a forced deletion by another client allows another record in its place.
 */
import { assert } from '../../../../api/index.js'
import { metadataError } from '../../metadata/errors.js'
import { parentOf } from '../../metadata/paths.js'
import type { BatchOperation, Expected, Stat } from '../../metadata/types.js'
import {
  CreateFlag,
  ZkError,
  type NodeStat,
  type ZkOperation,
  type ZkOutcome,
} from '../../zookeeper/protocol.js'
import { checkVersion, errorOf, isOfCreation, noData, statOfNode, type ZkNodes } from './nodes.js'

/** Attempts to change records with concurrent writers. */
export const attemptsMax = 10
/** The error of operations of a multi before the one that failed. */
const notFailed = -2

/** The state of a path while the operations of a batch are built. */
type Known = NodeStat | undefined

/** A node created by an earlier step, in version 0. No caller can know its creation. */
function createdNode(owner: bigint): NodeStat {
  return { czxid: -1, mzxid: -1, ctime: 0, mtime: 0, version: 0, owner, children: 0 }
}

/** Errors that justify a retry: a concurrent writer changed a node after it was read. */
export const races: ReadonlySet<number> = new Set([
  ZkError.noNode,
  ZkError.nodeExists,
  ZkError.badVersion,
])

/** Performs the steps of a batch. Returns the stat of each put, by position. */
export async function runBatch(
  nodes: ZkNodes,
  steps: readonly BatchOperation[],
): Promise<readonly (Stat | undefined)[]> {
  for (let attempt = 1; ; attempt++) {
    const { session } = nodes
    const { operations, stepOf } = new Plan(nodes, steps, await lookUp(nodes, steps))
    // A batch that expects a creation runs in the session that read the nodes.
    const isGuarded = steps.some(({ expected }) => isOfCreation(expected))
    const { outcomes, zxid } = await nodes.multi(operations, isGuarded ? session : undefined)
    const failed = outcomes.findIndex(({ error }) => error !== 0 && error !== notFailed)
    if (failed < 0) {
      assert(outcomes.length === operations.length, 'a multi has an outcome for each operation')
      return statsOf(nodes, steps, operations, stepOf, outcomes, zxid)
    }
    const { error } = outcomes[failed]
    if (!races.has(error) || attempt >= attemptsMax) throw errorOf(error, operations[failed].path)
    // The server may have removed the root of the store and the containers above it.
    if (error === ZkError.noNode) await nodes.createParents('/')
  }
}

/** The path of a step. */
export function pathOf(step: BatchOperation): string {
  return 'check' in step ? step.check : 'delete' in step ? step.delete : step.put
}

/** The ancestors of a path in the store, nearest first. */
function* ancestorsOf(nodes: ZkNodes, path: string): Generator<string, void> {
  for (let above = parentOf(path); above !== undefined; above = parentOf(above)) {
    if (nodes.full(above) !== '/') yield above
  }
}

async function lookUp(
  nodes: ZkNodes,
  steps: readonly BatchOperation[],
): Promise<Map<string, Known>> {
  const paths = new Set<string>()
  for (const step of steps) {
    paths.add(pathOf(step))
    if ('delete' in step || ('check' in step && step.expected !== -1)) continue
    for (const above of ancestorsOf(nodes, pathOf(step))) paths.add(above)
  }
  const all = [...paths]
  const stats = await Promise.all(all.map((path) => nodes.stat(path)))
  return new Map(all.map((path, i) => [path, stats[i]]))
}

/** The operations of a batch. */
class Plan {
  readonly operations: ZkOperation[] = []
  /** The step of each operation; -1 for parents. */
  readonly stepOf: number[] = []
  readonly #nodes: ZkNodes
  readonly #known: Map<string, Known>

  constructor(nodes: ZkNodes, steps: readonly BatchOperation[], known: Map<string, Known>) {
    this.#nodes = nodes
    this.#known = known
    steps.forEach((step, i) => this.#add(step, i))
  }

  #push(step: number, operation: ZkOperation): void {
    this.operations.push(operation)
    this.stepOf.push(step)
  }

  #add(step: BatchOperation, i: number): void {
    const path = pathOf(step)
    const found = this.#known.get(path)
    const expected = versionOf(path, step.expected, found)
    const isRecord = found !== undefined
    if (expected === -1 && isRecord) throw errorOf(ZkError.nodeExists, path)
    if (!isRecord && expected !== undefined && expected >= 0) throw noRecord(path)
    const version = expected ?? -1
    if ('put' in step) this.#put(step, i, found, version)
    else if ('delete' in step) {
      if (!isRecord) throw metadataError('notFound', path)
      this.#push(i, { op: 'delete', path, version })
      this.#known.set(path, undefined)
    } else if (expected === -1) this.#checkAbsence(path)
    else this.#push(i, { op: 'check', path, version })
  }

  /**
   * ZooKeeper has no check of absence; creating and deleting the highest missing node is the same.
   * There is nothing below an ephemeral node.
   */
  #checkAbsence(path: string): void {
    let missing = path
    for (const above of ancestorsOf(this.#nodes, path)) {
      const found = this.#known.get(above)
      if (found !== undefined && found.owner !== 0n) {
        this.#push(-1, { op: 'check', path: above, version: found.version })
        return
      }
      if (found !== undefined) break
      missing = above
    }
    this.#push(-1, { op: 'create', path: missing, data: noData, flags: CreateFlag.persistent })
    this.#push(-1, { op: 'delete', path: missing, version: -1 })
  }

  #put(
    step: Extract<BatchOperation, { readonly put: string }>,
    i: number,
    before: Known,
    version: number,
  ): void {
    const data = step.value as Buffer
    const path = step.put
    if (before !== undefined) {
      this.#push(i, { op: 'setData', path, data, version })
      // Later steps expect the version after this step.
      this.#known.set(path, { ...before, version: before.version + 1 })
      return
    }
    const missing: string[] = []
    for (const above of ancestorsOf(this.#nodes, path)) {
      if (this.#known.get(above) !== undefined) break
      missing.push(above)
    }
    for (const above of missing.reverse()) {
      const flags = CreateFlag.container
      this.#push(-1, { op: 'createContainer', path: above, data: noData, flags })
      this.#known.set(above, createdNode(0n))
    }
    const isEphemeral = step.ephemeral === true
    const flags = isEphemeral ? CreateFlag.ephemeral : CreateFlag.persistent
    this.#push(i, { op: 'create', path, data, flags })
    this.#known.set(path, createdNode(isEphemeral ? this.#nodes.session : 0n))
  }
}

function noRecord(path: string): Error {
  return metadataError('badVersion', `${path}: there is no record`)
}

/** The version for the server to compare; undefined = any, -1 = absence. */
export function versionOf(
  path: string,
  expected: Expected | undefined,
  found: Known,
): number | undefined {
  if (!isOfCreation(expected)) {
    const version = expected as number | undefined
    if (version !== undefined) checkVersion(path, version)
    return version
  }
  const wanted = expected.creationSequence
  if (found === undefined) throw noRecord(path)
  if (found.czxid === wanted) return found.version
  throw metadataError('badVersion', `${path}: creation ${found.czxid}, expected ${wanted}`)
}

async function statsOf(
  nodes: ZkNodes,
  steps: readonly BatchOperation[],
  operations: readonly ZkOperation[],
  stepOf: readonly number[],
  outcomes: readonly ZkOutcome[],
  zxid: number,
): Promise<(Stat | undefined)[]> {
  const { session } = nodes
  const stats: (Stat | undefined)[] = steps.map(() => undefined)
  for (const [at, outcome] of outcomes.entries()) {
    const i = stepOf[at]
    if (i < 0 || !('put' in steps[i])) continue
    const stat = outcome.stat ?? (await createdStat(nodes, operations[at], zxid, session))
    stats[i] = statOfNode(operations[at].path, stat, session)
  }
  return stats
}

/** The stat of a node created by the multi, whose answer has no stat. */
async function createdStat(
  nodes: ZkNodes,
  { path, flags }: ZkOperation,
  zxid: number,
  session: bigint,
): Promise<NodeStat> {
  const now = await nodes.stat(path)
  const time = now?.czxid === zxid ? now.ctime : 0
  const owner = flags === CreateFlag.ephemeral ? session : 0n
  return { czxid: zxid, mzxid: zxid, ctime: time, mtime: time, version: 0, owner, children: 0 }
}
