/** @runs long */
import t from 'tap'
import { commonPrefixLength, compareBytes, readPrefix48 } from '../../../../src/base/bytes.js'
import { EntryArena } from '../../../../src/storage/memtable/arena.js'
import { type NodeArrays, slotsPerNode } from '../../../../src/storage/memtable/nodes.js'
import { MemtableCursor } from '../../../../src/storage/memtable/memtable-cursor.js'
import type { OverwriteRule } from '../../../../src/storage/memtable/overwrite-rule.js'
import { EntryTree } from '../../../../src/storage/memtable/tree.js'
import type { TreeEdges } from '../../../../src/storage/memtable/tree-edges.js'

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
    const { firstEntry, lastEntry } = (tree as unknown as { edges: TreeEdges }).edges
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
    if (nodes.counts[node] < 1 && !isLeaf) throw new Error(`node ${node} is empty`)
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
  let last = ''
  const scattered = (i: number): string => String((i * 7919) % 10_007).padStart(9, '0')
  const shapes: Array<(i: number) => string> = [
    // Cells of one row behind the other, some of them twice, and keys that begin as the one before.
    (i) => `row ${scattered(Math.floor(i / 10))} field ${i % 10}`,
    (i) => `row ${scattered(random(200))} field ${(i * 3) % 10} ${random(3)}`,
    () => (last = (random(6) === 0 ? '' : last) + ['\0', 'x', '\0\0\0', 'xxxxxx'][random(4)]),
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

const versionBytes = 8

/** The key of a version, newer ones first, and behind it a value that names the version. */
function versionOf(name: string, version: number, valueBytes: number): Buffer {
  const suffix = String(99_999_999 - version).padStart(versionBytes, '0')
  return Buffer.from(name + suffix + `${name} ${version} `.padEnd(valueBytes, '.'))
}

void t.test(`newer versions take the place of older ones, seed ${seed}`, async (t) => {
  const random = makeRandom()
  const names: Record<string, (i: number) => string> = {
    one: () => 'a column',
    few: () => `row ${random(5)}`,
    many: () => `row ${String(random(3000)).padStart(6, '0')}`,
    cells: (i) => `row ${String(((i >> 3) * 7919) % 97).padStart(6, '0')} ${i & 7}`,
    ascending: (i) => `row ${String(i >> 2).padStart(6, '0')}`,
    descending: (i) => `row ${String(1e6 - (i >> 2)).padStart(7, '0')}`,
    ragged: () => 'x'.repeat(random(30)) + '\0'.repeat(random(4)),
  }
  for (const [shape, nameOf] of Object.entries(names)) {
    const arena = new EntryArena(1024)
    const tree = new EntryTree(arena)
    /** Versions of each name that are to be there, newest first. */
    const expected = new Map<string, { version: number; value: string }[]>()
    let isKept = false
    let cursor: MemtableCursor | undefined
    let shown = ''
    let replaced = 0
    const rule: OverwriteRule = {
      versionBytes,
      get reusesMemory() {
        return cursor === undefined
      },
      replaces: () => !isKept,
    }
    for (let i = 0; i < 8000; i++) {
      const name = nameOf(i)
      isKept = random(40) === 0
      const bytes = versionOf(name, i, 20 + random(3) * 8)
      const keyEnd = name.length + versionBytes
      tree.insert(bytes, 0, keyEnd, keyEnd, bytes.length, rule)
      const versions = expected.get(name) ?? []
      if (!isKept && versions.length > 0) {
        versions.shift()
        replaced++
      }
      versions.unshift({ version: i, value: bytes.toString('latin1', keyEnd) })
      expected.set(name, versions)
      if (i < 300 || i % 997 === 0) new Checker(tree)
      if (cursor?.valid === true) {
        const { buffer, keyStart, keyEnd } = cursor
        const now = buffer.toString('latin1', keyStart, keyEnd)
        if (now !== shown) throw new Error(`the cursor's ${shown} became ${now}`)
        if (random(2) === 0) cursor.next()
        else cursor.previous()
        if (cursor.valid) {
          shown = cursor.buffer.toString('latin1', cursor.keyStart, cursor.keyEnd)
        }
      }
      if (random(50) === 0) {
        cursor = random(2) === 0 ? undefined : new MemtableCursor(tree)
        const start = Buffer.from(nameOf(i))
        cursor?.seek(start, start.length)
        if (cursor?.valid === true) {
          shown = cursor.buffer.toString('latin1', cursor.keyStart, cursor.keyEnd)
        }
      }
    }
    new Checker(tree)
    const left = [...expected].flatMap(([name, versions]) =>
      versions.map(({ version, value }) => {
        const suffix = String(99_999_999 - version).padStart(versionBytes, '0')
        return [name + suffix, value]
      }),
    )
    left.sort(([a], [b]) => (a < b ? -1 : 1))
    const found: string[][] = []
    const all = new MemtableCursor(tree)
    for (all.seek(Buffer.alloc(0), 0); all.valid; all.next()) {
      const { buffer, keyStart, keyEnd, valueStart, valueEnd } = all
      const key = buffer.toString('latin1', keyStart, keyEnd)
      found.push([key, buffer.toString('latin1', valueStart, valueEnd)])
    }
    t.same(found, left, `${shape} forward`)
    const back: string[] = []
    all.seekBefore(Buffer.from([255]), 1)
    for (; all.valid; all.previous()) {
      back.push(all.buffer.toString('latin1', all.keyStart, all.keyEnd))
    }
    t.same(back, left.map(([key]) => key).reverse(), `${shape} backward`)
    t.equal(tree.entryCount, left.length)
    t.ok(replaced > 1000)
  }
})

void t.test('memory of replaced entries is used again, whatever their lengths', (t) => {
  const arena = new EntryArena(1024)
  const tree = new EntryTree(arena)
  const rule = { versionBytes, reusesMemory: true, replaces: () => true }
  for (let i = 0; i < 5000; i++) {
    const bytes = versionOf('a column', i, 20 + (i % 7) * 4)
    tree.insert(bytes, 0, 16, 16, bytes.length, rule)
  }
  t.equal(tree.entryCount, 1)
  t.ok(arena.bytesUsed < 1000, `${arena.bytesUsed} bytes`)
  t.end()
})
