/**
 * Peers: what is not installed is named, what is installed is known by its lock file.
 *
 * @runs long
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { KeyLocks } from '../../../bench/engines/key-locks.js'
import { arePeersInstalled, installPeers, peerVersion } from '../../../bench/engines/peers.js'

void t.test('a peer that is not installed says so in one line', (t) => {
  t.throws(() => peerVersion('cellardb-no-such-peer'), /^not installed \(.*no-such-peer/)
  t.end()
})

void t.test('what is installed counts only for its lock file and its Node', (t) => {
  const folder = t.testdir({ 'package-lock.json': 'first' })
  t.notOk(arePeersInstalled(folder))
  mkdirSync(join(folder, 'node_modules'))
  const hash = createHash('sha256').update('first').digest('hex')
  const stamp = join(folder, 'node_modules', '.installed-lock')
  writeFileSync(stamp, `${hash} another`)
  t.notOk(arePeersInstalled(folder), 'addons of another Node')
  writeFileSync(stamp, `${hash} ${process.versions.modules}`)
  t.ok(arePeersInstalled(folder))
  writeFileSync(join(folder, 'package-lock.json'), 'second')
  t.notOk(arePeersInstalled(folder))
  t.end()
})

void t.test('an installation that fails gives the reason and is not taken for done', async (t) => {
  const folder = t.testdir({
    'package.json': '{ "name": "broken", "version": "1.0.0" }',
    'package-lock.json': 'this is no lock file',
  })
  t.match(await installPeers(folder), /npm ci ended with 1/)
  t.notOk(arePeersInstalled(folder))
})

void t.test('steps under one key run one after the other, failed ones too', async (t) => {
  const locks = new KeyLocks()
  const order: string[] = []
  const step = (name: string, turns: number) => async () => {
    order.push(`${name} begins`)
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    order.push(`${name} ends`)
    if (name === 'fails') throw new Error('on purpose')
    return name
  }
  const one = Buffer.from('one')
  const running = [
    locks.run(one, step('first', 5)),
    locks.run(one, step('fails', 3)),
    locks.run(Buffer.from('other'), step('aside', 1)),
    locks.run(one, step('last', 0)),
  ]
  const outcomes = await Promise.allSettled(running)
  t.strictSame(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  const ofOne = order.filter((entry) => !entry.startsWith('aside'))
  t.strictSame(ofOne, [
    ...['first begins', 'first ends', 'fails begins', 'fails ends', 'last begins', 'last ends'],
  ])
  t.ok(order.indexOf('aside ends') < order.indexOf('first ends'), 'other keys do not wait')
})
