/** The process of one store: gets a task, sends its measurements, ends. */
import { mkdirSync } from 'node:fs'
import { serveTask, type Tell } from '../harness/processes/subject-process.js'
import { runWorkloads, type Sizes } from './workloads.js'
import { storeEntries, type StoreSettings } from './stores.js'

/** What a process is asked to do. */
export interface StoreTask {
  readonly store: string
  readonly settings: StoreSettings
  readonly sizes: Sizes
}

async function run({ store, settings, sizes }: StoreTask, tell: Tell): Promise<void> {
  mkdirSync(settings.directory, { recursive: true })
  const entry = storeEntries.find(({ name }) => name === store)
  if (entry === undefined) throw new Error(`there is no store ${store}`)
  const opened = await entry.open(settings)
  await runWorkloads(opened, settings.directory, sizes, tell)
  await opened.close()
}

serveTask(run)
