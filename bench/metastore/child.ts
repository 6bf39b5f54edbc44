/** The process of one store: gets a task, sends its measurements, ends. */
import { mkdirSync } from 'node:fs'
import { runWorkloads, type Measurement, type Sizes } from './workloads.js'
import { storeEntries, type StoreSettings } from './stores.js'

/** What a process is asked to do. */
export interface StoreTask {
  readonly store: string
  readonly settings: StoreSettings
  readonly sizes: Sizes
}

/** What it tells. */
export type StoreMessage =
  | { readonly kind: 'measured'; readonly measurement: Measurement }
  | { readonly kind: 'failed'; readonly message: string }

function send(message: StoreMessage): void {
  process.send!(message)
}

async function run({ store, settings, sizes }: StoreTask): Promise<void> {
  mkdirSync(settings.directory, { recursive: true })
  const entry = storeEntries.find(({ name }) => name === store)
  if (entry === undefined) throw new Error(`there is no store ${store}`)
  const opened = await entry.open(settings)
  await runWorkloads(opened, settings.directory, sizes, (measurement) => {
    send({ kind: 'measured', measurement })
  })
  await opened.close()
}

process.on('message', (task: StoreTask) => {
  run(task)
    .catch((error: unknown) => {
      send({ kind: 'failed', message: (error as Error).stack ?? String(error) })
    })
    .finally(() => {
      process.disconnect()
    })
})
