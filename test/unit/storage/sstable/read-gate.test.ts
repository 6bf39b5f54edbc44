import t from 'tap'
import { ReadGate } from '../../../../src/storage/sstable/read-gate.js'

/** A gate, and a read of some milliseconds through it; false: the gate is closed. */
function gate(): { read: (milliseconds: number) => boolean; wait: (milliseconds: number) => void } {
  let now = 5000
  const subject = new ReadGate(true, () => now)
  const read = (milliseconds: number): boolean => {
    const startedAt = subject.enter()
    if (startedAt < 0) return false
    now += milliseconds
    subject.leave(startedAt)
    return true
  }
  return { read, wait: (milliseconds) => (now += milliseconds) }
}

void t.test('the gate is open while reads are quick', async (t) => {
  const { read } = gate()
  for (let i = 0; i < 1000; i++) if (!read(0.09)) t.fail(`closed at read ${i}`)
  const other = gate()
  for (let i = 0; i < 1000; i++) {
    if (!other.read(i % 20 === 0 ? 0.5 : 0.02)) t.fail(`closed at ${i}`)
  }
})

void t.test('a read that is slower than the collector closes the gate for a second', async (t) => {
  const { read, wait } = gate()
  t.ok(read(21))
  t.notOk(read(0))
  wait(999)
  t.notOk(read(0))
  wait(1)
  t.ok(read(0.01))
  t.ok(read(0.01))
})

void t.test('a pause among quick reads does not close the gate, two slow reads do', async (t) => {
  const { read } = gate()
  for (let i = 0; i < 1000; i++) if (!read(i % 60 === 0 ? 5 : 0.01)) t.fail(`closed at ${i}`)
  const slow = gate()
  t.ok(slow.read(0.01))
  t.ok(slow.read(2))
  t.ok(slow.read(2))
  t.notOk(slow.read(0))
  slow.wait(1000)
  t.ok(slow.read(2), 'after the second')
  t.notOk(slow.read(0), 'one slow read is enough')
})

void t.test('reads that are slow on average close the gate', async (t) => {
  const { read, wait } = gate()
  let reads = 0
  while (read(0.2)) reads++
  t.ok(reads > 1 && reads < 10, `${reads} reads`)
  wait(1000)
  t.ok(read(0.05), 'the average starts lower')
})

void t.test('slow reads among many quick ones close the gate', async (t) => {
  const { read } = gate()
  let heldMilliseconds = 0
  for (let i = 1; i < 500 && read(i % 25 === 0 ? 15 : 0.01); i++) {
    if (i % 25 === 0) heldMilliseconds += 15
  }
  t.ok(heldMilliseconds > 15 && heldMilliseconds <= 45, `${heldMilliseconds} ms`)
})

void t.test('a read that fails closes the gate', async (t) => {
  let now = 5000
  const subject = new ReadGate(true, () => now)
  t.equal(subject.enter(), 5000)
  now += 200
  t.equal(subject.enter(), -1, 'the read before had no end')
  now += 1000
  t.equal(subject.enter(), now)
})

void t.test('a gate that is not allowed to open never does', async (t) => {
  t.equal(new ReadGate(false).enter(), -1)
})
