/** The process of one engine: gets a task, sends its measurements, ends. */
import { subjectEntries } from './subjects.js'
import { runWorkloads, type Measurement, type Sizes } from './workloads.js'

/** What a process is asked to do. */
export interface SubjectTask {
  readonly subject: string
  readonly directory: string
  readonly isQuick: boolean
  readonly sizes: Sizes
  /** The same in small, before, so that what is measured is compiled code. */
  readonly warmUp: Sizes
}

/** What it tells. */
export type SubjectMessage =
  | { readonly kind: 'measured'; readonly measurement: Measurement }
  | { readonly kind: 'failed'; readonly message: string }

function send(message: SubjectMessage): void {
  process.send!(message)
}

async function run({ subject, directory, isQuick, sizes, warmUp }: SubjectTask): Promise<void> {
  const rounds = [
    { path: `${directory}-warm`, small: true, own: warmUp },
    { path: directory, small: isQuick, own: sizes },
  ]
  for (const { path, small, own } of rounds) {
    const entry = subjectEntries(small).find(({ name }) => name === subject)
    if (entry === undefined) throw new Error(`there is no subject ${subject}`)
    const opened = await entry.open(path)
    try {
      await runWorkloads(opened, path, own, (measurement) => {
        if (path === directory) send({ kind: 'measured', measurement })
      })
    } finally {
      await opened.close()
    }
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
