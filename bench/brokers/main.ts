/**
 * Three brokers share the bundles of a namespace; one is killed, one stands still, others go on.
 *
 * `npm run brokers` starts every broker as a process of its own. Over Cellar a coordinator process
 * has the store open and serves them, since one process has a store open at a time; over a
 * ZooKeeper, where one is installed, they connect to the server. The leader is killed (SIGKILL);
 * within the session timeout another leads and all bundles have owners again. Another broker is
 * stopped in the middle of its work (SIGSTOP); when the broker wakes up, its write is refused, for
 * the bundle has another owner. Over Cellar the coordinator is killed, too, and no lock is lost. A
 * fourth broker reads the configuration through its cache and sees each change once.
 *
 * Exit code 0: all of that was so. `--store cellar` or `--store zookeeper`: only that one.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ZooKeeperServer, zookeeperMissing } from '../metadata/zookeeper-server.js'
import { outliveReader } from '../demonstration-words.js'
import { Demonstration, say } from './demonstration.js'
import { Coordinator } from './processes.js'

async function overCellar(): Promise<void> {
  say('Cellar, whose store a coordinator process has open:')
  const directory = mkdtempSync(join(tmpdir(), 'cellar-brokers-'))
  const coordinator = new Coordinator(directory)
  try {
    await coordinator.start()
    const shown = await Demonstration.of(`coordinator:${coordinator.port}`)
    try {
      await shown.run()
      await shown.restart(coordinator)
    } finally {
      await shown.end()
    }
  } finally {
    await coordinator.kill()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function overZooKeeper(isAsked: boolean): Promise<void> {
  const missing = zookeeperMissing()
  if (missing !== undefined && isAsked) throw new Error(missing)
  if (missing !== undefined) return say(`ZooKeeper is left out: ${missing}`)
  say('ZooKeeper:')
  const server = await ZooKeeperServer.start()
  try {
    const shown = await Demonstration.of(`zk:127.0.0.1:${server.port}`)
    try {
      await shown.run()
    } finally {
      await shown.end()
    }
  } finally {
    await server.remove()
  }
}

const [option, chosen] = process.argv.slice(2)
const isKnown = option === undefined || /^(cellar|zookeeper)$/.test(chosen ?? '')
if (!isKnown || (option ?? '--store') !== '--store') {
  process.stderr.write('usage: npm run brokers -- [--store cellar|zookeeper]\n')
  process.exit(2)
}
outliveReader()
try {
  if (chosen !== 'zookeeper') await overCellar()
  if (chosen !== 'cellar') await overZooKeeper(chosen === 'zookeeper')
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
}
