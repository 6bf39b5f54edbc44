/** The process of one subject: gets a task, sends its measurements, ends. */
import { openSubject, subjectEntries } from './subjects.js'
import type { SubjectSettings } from './subject.js'
import { runWorkloads, type Measurement, type Sizes } from './workloads.js'

/** What a process is asked to do. */
export interface SubjectTask {
  readonly subject: string
  readonly settings: SubjectSettings
  readonly sizes: Sizes
}

/** What it tells. */
export type SubjectMessage =
  | { readonly kind: 'measured'; readonly measurement: Measurement }
  | { readonly kind: 'failed'; readonly message: string }

function send(message: SubjectMessage): void {
  process.send!(message)
}

async function run({ subject, settings, sizes }: SubjectTask): Promise<void> {
  const entry = subjectEntries.find(({ name }) => name === subject)
  if (entry === undefined) throw new Error(`there is no subject ${subject}`)
  const opened = await openSubject(entry, settings)
  try {
    await runWorkloads(opened, entry, settings.directory, sizes, (measurement) => {
      send({ kind: 'measured', measurement })
    })
  } finally {
    await opened.close()
  }
}

process.on('message', (task: SubjectTask) => {
  run(task)
    .catch((error: unknown) => {
      send({ kind: 'failed', message: (error as Error).stack ?? String(error) })
    })
    .finally(() => {
      process.disconnect()
    })
})
