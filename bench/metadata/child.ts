/** The process of one subject: gets a task, sends its measurements, ends. */
import { rmSync } from 'node:fs'
import { openSubject, subjectEntries } from './subjects.js'
import type { SubjectEntry, SubjectSettings } from './subject.js'
import { serveTask, type Tell } from '../harness/processes/subject-process.js'
import { runWorkloads, type Sizes } from './workloads.js'

/** What a process is asked to do. */
export interface SubjectTask {
  readonly subject: string
  readonly settings: SubjectSettings
  readonly sizes: Sizes
}

/**
 * Sizes of the run before the one that counts, long enough that all code is compiled. A subject
 * that syncs each put spends its time in the disk, and less is enough.
 */
function warmSizes({ isSerial }: SubjectEntry): Sizes {
  return {
    topics: isSerial ? 1_000 : 20_000,
    single: 500,
    outstanding: isSerial ? 1_000 : 10_000,
    rounds: 5,
    listings: 5_000,
    listeners: 1_000,
    changes: 500,
    ephemeral: isSerial ? 1_000 : 20_000,
  }
}

/** Runs everything on a small store, so that what is measured is compiled code. */
async function warmUp(entry: SubjectEntry, settings: SubjectSettings): Promise<void> {
  const directory = `${settings.directory}-warm`
  const opened = await openSubject(entry, { ...settings, directory })
  try {
    await runWorkloads(opened, entry, directory, warmSizes(entry), () => undefined)
  } finally {
    await opened.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function run({ subject, settings, sizes }: SubjectTask, tell: Tell): Promise<void> {
  const entry = subjectEntries.find(({ name }) => name === subject)
  if (entry === undefined) throw new Error(`there is no subject ${subject}`)
  if (sizes.single > warmSizes(entry).single) await warmUp(entry, settings)
  const opened = await openSubject(entry, settings)
  try {
    await runWorkloads(opened, entry, settings.directory, sizes, tell)
  } finally {
    await opened.close()
  }
}

serveTask(run)
