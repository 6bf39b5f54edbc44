import t from 'tap'
import { commonPrefixLength, compareBytes, readPrefix48 } from '../../../src/base/bytes.js'
import { EntryArena } from '../../../src/memtable/arena.js'
import { type NodeArrays, slotsPerNode } from '../../../src/memtable/nodes.js'
import { EntryTree } from '../../../src/memtable/tree.js'

const seed = Number(process.env.CELLAR_SEED ?? 20261121)

/** Walks a whole tree and throws if one of the invariants of its header does not hold. */
class Checker {
  entries = 0
  private readonly tree: EntryTree
  private readonly height: number
  private leafBefore = -1

  constructor(tree: EntryTree) {
    this.tree = tree
    const inside = tree as unknown as { root: number; height: number }
    this.height = inside.height
    const { firstEntry, lastEntry } = tree as unknown as { firstEntry: number; lastEntry: number }
    this.check(inside.root, 0, this.key(firstEntry), this.key(lastEntry), true)
    if (tree.leaves.links[this.leafBefore * 2] !== -1) throw new Error('last leaf has a follower')
    if (this.entries !== tree.entryCount) throw new Error(`${this.entries} entries`)
  }

  private key(entry: number): Buffer {
    const start = entry * 4 + 8
    return this.tree.arena.buffer.subarray(start, start + this.tree.arena.lengths[entry])
  }

  private check(node: number, depth: number, low: Buffer, high: Buffer, highIncluded: boolean) {
    const isLeaf = depth === this.height
    const nodes = isLeaf ? this.tree.leaves : this.tree.inners
    const shared = commonPrefixLength(low, 0, low.length, high, 0, high.length)
    if (nodes.prefixLengths[node] > shared) throw new Error(`prefix of node ${node}`)
    if (nodes.counts[node] < 1) throw new Error(`node ${node} is empty`)
    const keys = this.checkSlots(nodes, node, isLeaf ? 0 : 1, low, high, highIncluded)
    if (isLeaf) {
      this.entries += keys.length
      if (this.tree.leaves.links[node * 2 + 1] !== this.leafBefore) throw new Error('back link')
      if (this.leafBefore >= 0 && this.tree.leaves.links[this.leafBefore * 2] !== node) {
        throw new Error('forward link')
      }
      this.leafBefore = node
      return
    }
    for (let i = 0; i < nodes.counts[node]; i++) {
      const child = nodes.links[node * slotsPerNode + i]
      const isLast = i === nodes.counts[node] - 1
      this.check(
        child,
        depth + 1,
        i === 0 ? low : keys[i - 1],
        isLast ? high : keys[i],
        isLast && highIncluded,
      )
    }
  }

  private checkSlots(
    nodes: NodeArrays,
    node: number,
    from: number,
    low: Buffer,
    high: Buffer,
    highIncluded: boolean,
  ): Buffer[] {
    const keys: Buffer[] = []
    for (let i = from; i < nodes.counts[node]; i++) {
      const key = this.key(nodes.entries[node * slotsPerNode + i])
      const number = readPrefix48(key, nodes.prefixLengths[node], key.length)
      if (number !== nodes.numbers[node * slotsPerNode + i]) throw new Error(`number ${node}/${i}`)
      const before = keys.length === 0 ? low : keys[keys.length - 1]
      const order = compareBytes(before, 0, before.length, key, 0, key.length)
      if (order > 0 || (order === 0 && keys.length > 0)) throw new Error(`order ${node}/${i}`)
      const fence = compareBytes(key, 0, key.length, high, 0, high.length)
      if (fence > 0 || (fence === 0 && !highIncluded)) throw new Error(`fence ${node}/${i}`)
      keys.push(key)
    }
    return keys
  }
}

function fill(tree: EntryTree, count: number, make: (i: number) => string): void {
  for (let i = 0; i < count; i++) {
    const source = Buffer.from(make(i), 'latin1')
    tree.insert(source, 0, source.length, source.length, source.length)
    if (i < 300 || i % 997 === 0) new Checker(tree)
  }
  new Checker(tree)
}

function makeRandom(): (limit: number) => number {
  let state = seed | 0 || 1
  return (limit) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
}

void t.test('ascending keys leave full leaves behind', async () => {
  const tree = new EntryTree(new EntryArena(1024))
  fill(tree, slotsPerNode * 200, (i) => `row ${String(i).padStart(9, '0')}`)
  t.equal(tree.leaves.count, 200)
})

void t.test('descending keys leave full leaves behind', async () => {
  const tree = new EntryTree(new EntryArena(1024))
  fill(tree, slotsPerNode * 200, (i) => `row ${String(1e6 - i).padStart(9, '0')}`)
  t.equal(tree.leaves.count, 200)
})

void t.test(`the tree keeps its invariants for random keys, seed ${seed}`, async () => {
  const random = makeRandom()
  const shapes: Array<(i: number) => string> = [
    () => String(random(1e9)),
    () => `user${random(1e9)}${random(1e9)}`,
    () => 'x'.repeat(random(40)),
    () => 'x'.repeat(random(40)) + random(1000),
    () => '\0'.repeat(random(8)) + '\xff'.repeat(random(8)) + '\0'.repeat(random(8)),
    (i) => `${random(7)}:${String(i).padStart(8, '0')}`,
    (i) => `${random(7)}:${String(1e7 - i).padStart(8, '0')}`,
    (i) => (i < 5000 ? 'common prefix' : 'comm') + random(1e9),
  ]
  for (const shape of shapes) fill(new EntryTree(new EntryArena(1024)), 12_000, shape)
  const mixed = (i: number) => shapes[random(shapes.length)](i)
  fill(new EntryTree(new EntryArena(1024)), 30_000, mixed)
})

void t.test('separators may name entries that were replaced', async () => {
  const tree = new EntryTree(new EntryArena(1024))
  const key = (i: number) => `row ${String((i * 7919) % 10_007).padStart(9, '0')}`
  fill(tree, 10_007, key)
  fill(tree, 10_007, key)
  t.equal(tree.entryCount, 10_007)
})

void t.test('a full inner node can be split below any of its children', async (t) => {
  const digits = (i: number) => Buffer.from(`row ${String(i).padStart(9, '0')}`)
  for (let child = 0; child < slotsPerNode; child++) {
    const tree = new EntryTree(new EntryArena(2 ** 18))
    for (let i = 0; i < slotsPerNode * slotsPerNode; i++) {
      tree.insert(digits(i * 10), 0, 13, 13, 13)
    }
    if (tree.inners.count !== 1 || tree.leaves.count !== slotsPerNode) t.fail('root is not full')
    const place = (child * slotsPerNode + (child % slotsPerNode)) * 10
    for (const key of [place + 5, place + 6, place - 5, place + 310]) {
      tree.insert(digits(key), 0, 13, 13, 13)
      new Checker(tree)
      if (!tree.find(digits(key), 0, 13)) t.fail(`key ${key} is not found`)
    }
    if (tree.inners.count < 3) t.fail(`root was not split below child ${child}`)
  }
})

void t.test('descending keys below the last child do not waste inner nodes', async (t) => {
  const tree = new EntryTree(new EntryArena(2 ** 18))
  const digits = (i: number) => `row ${String(i).padStart(9, '0')}`
  fill(tree, slotsPerNode * slotsPerNode * 2, (i) => digits(i * 10_000))
  const top = slotsPerNode * slotsPerNode * 10_000 - 1
  fill(tree, 9999, (i) => digits(top - i))
  t.ok(tree.inners.count < 20, `${tree.inners.count} inner nodes`)
})
