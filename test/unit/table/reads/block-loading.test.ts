import t from 'tap'
import { throwBlockMissing, type BlockLoader } from '../../../../src/storage/cursor/cursor.js'
import { loadAndRepeat, runLoading } from '../../../../src/table/reads/block-loading.js'
import { emptyState, Version } from '../../../../src/storage/version/version.js'

/** A version set that publishes at will and knows which versions are held. */
class FakeVersions {
  readonly live = new Set<number>()
  current = this.make(1)

  publish(): void {
    const before = this.current
    this.current = this.make(before.versionNumber + 1)
    before.release()
  }

  private make(versionNumber: number): Version {
    this.live.add(versionNumber)
    return new Version(versionNumber, emptyState, () => this.live.delete(versionNumber))
  }
}

void t.test('a version that is published between two loads is held by the second', async (t) => {
  const versions = new FakeVersions()
  const heldDuringLoad: number[][] = []
  const released: number[] = []
  const loader: BlockLoader = {
    loadBlock: async () => {
      // Another version may come while a block is read; the step began with the current one.
      versions.publish()
      await Promise.resolve()
      heldDuringLoad.push([...versions.live])
    },
    releaseBlock: (index) => released.push(index),
  }
  const began: number[] = []
  const step = (): string => {
    began.push(versions.current.versionNumber)
    return began.length > 2 ? 'done' : throwBlockMissing(loader, began.length)
  }
  const first = ((): Promise<string> => {
    try {
      return Promise.resolve(step())
    } catch {
      const readPoints = { holdAll: () => [], remove: () => {}, isRepeating: false }
      return loadAndRepeat({ versions, readPoints }, step)
    }
  })()
  t.equal(await first, 'done')
  t.same(began, [1, 2, 3])
  t.same(heldDuringLoad, [
    [1, 2],
    [2, 3],
  ])
  t.same([...versions.live], [3], 'nothing is held afterwards')
  t.same(released, [1, 2])
})

void t.test('a step gets on though no block stays that nobody keeps', async (t) => {
  const kept = new Set<number>()
  const loader: BlockLoader = {
    loadBlock: async (index) => void kept.add(index),
    releaseBlock: (index) => void kept.delete(index),
  }
  const readPoints = { holdAll: () => [], remove: () => {}, isRepeating: false }
  let runs = 0
  const step = (): string => {
    // A step that loads for ever must end here.
    if (++runs > 9) return 'given up'
    for (const index of [1, 2, 3]) if (!kept.has(index)) throwBlockMissing(loader, index)
    return 'done'
  }
  t.equal(await runLoading({ versions: new FakeVersions(), readPoints }, step), 'done')
  t.equal(runs, 4, 'each run needs one block more')
  t.equal(kept.size, 0, 'nothing is kept afterwards')
})
