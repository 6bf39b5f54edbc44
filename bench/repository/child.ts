/** The process of one engine: gets a task, sends its measurements, ends. */
import { subjectEntries } from './subjects.js'
import { serveTask, type Tell } from '../harness/processes/subject-process.js'
import { runWorkloads, type Sizes } from './workloads.js'

/** What a process is asked to do. */
export interface SubjectTask {
  readonly subject: string
  readonly directory: string
  readonly isQuick: boolean
  readonly sizes: Sizes
  /** The same in small, before, so that what is measured is compiled code. */
  readonly warmUp: Sizes
}

async function run(task: SubjectTask, tell: Tell): Promise<void> {
  const { subject, directory, isQuick, sizes, warmUp } = task
  const rounds = [
    { path: `${directory}-warm`, small: true, own: warmUp },
    { path: directory, small: isQuick, own: sizes },
  ]
  for (const { path, small, own } of rounds) {
    const entry = subjectEntries(small).find(({ name }) => name === subject)
    if (entry === undefined) throw new Error(`there is no subject ${subject}`)
    const opened = await entry.open(path)
    try {
      await runWorkloads(opened, path, own, path === directory ? tell : () => undefined)
    } finally {
      await opened.close()
    }
  }
}

serveTask(run)
