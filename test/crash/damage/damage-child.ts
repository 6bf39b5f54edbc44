/**
 * `damage-child.js DIRECTORY SEED STEPS STOP` fills a new database and says in JSON what it holds.
 * Then it closes the database if STOP is `closed`; else it waits to be killed.
 */
import { load, openLoaded } from './damage-runner.js'
import { generatorOf } from '../recovery.js'

async function main([directory, seed, steps, stop]: readonly string[]): Promise<void> {
  const database = await openLoaded(directory)
  const loaded = await load(database, generatorOf(Number(seed)), Number(steps))
  if (stop === 'closed') await database.close()
  process.stdout.write(`${JSON.stringify(loaded)}\n`)
  if (stop !== 'closed') setInterval(() => {}, 1000)
}

void main(process.argv.slice(2))
