/**
 * What processes of the library have told before they were killed: which versions they have saved,
 * with which text, and which they may have dropped. What was saved must be there at the end.
 */
import type { Library } from './program.js'
import { field, idOf } from './program.js'

/** What a process tells; a drop is told before it begins and when it has ended. */
export type Note =
  | {
      readonly kind: 'saved'
      readonly name: string
      readonly version: number
      readonly text: string
    }
  | { readonly kind: 'dropping'; readonly name: string }
  | { readonly kind: 'dropped'; readonly name: string; readonly first: number }
  | { readonly kind: 'deleting'; readonly name: string }
  | { readonly kind: 'deleted'; readonly name: string }

/** What is known of one package. */
interface Known {
  /** Texts by version. */
  readonly saved: Map<number, string>
  /** Whether a drop was begun and not ended: older versions may be gone. */
  mayBeDropped: boolean
  /** Whether a delete was begun and not ended. */
  mayBeDeleted: boolean
  isThere: boolean
}

/** Collects notes, and compares them with the records. */
export class Journal {
  readonly #known = new Map<string, Known>()
  /** Notes of saves so far. */
  saves = 0

  add(note: Note): void {
    const { name, kind } = note
    const known = this.#known.get(name) ?? {
      saved: new Map<number, string>(),
      mayBeDropped: false,
      mayBeDeleted: false,
      isThere: false,
    }
    this.#known.set(name, known)
    if (kind === 'saved') {
      // Below the greatest version there is nothing left to be known of an earlier life.
      if (known.mayBeDeleted) known.saved.clear()
      known.saved.set(note.version, note.text)
      known.isThere = true
      known.mayBeDeleted = false
      this.saves++
    } else if (kind === 'dropping') known.mayBeDropped = true
    else if (kind === 'dropped') {
      known.mayBeDropped = false
      for (const version of known.saved.keys()) {
        if (version < note.first) known.saved.delete(version)
      }
    } else if (kind === 'deleting') known.mayBeDeleted = true
    else {
      known.saved.clear()
      known.isThere = known.mayBeDeleted = false
    }
  }

  /** A process was killed: what it had begun may have been done. */
  killed(): void {
    for (const known of this.#known.values()) {
      if (!known.mayBeDropped) continue
      // The newest version stays, whatever is dropped.
      const newest = Math.max(0, ...known.saved.keys())
      for (const version of known.saved.keys()) if (version < newest) known.saved.delete(version)
      known.mayBeDropped = false
    }
  }

  /** Reads every version that was saved; what differs. */
  async compare({ table }: Library): Promise<{ versions: number; problems: string[] }> {
    const problems: string[] = []
    let versions = 0
    for (const [name, { saved, mayBeDeleted, isThere }] of this.#known) {
      const id = idOf(name)
      if (!(await table.exists(id))) {
        if (isThere && !mayBeDeleted) problems.push(`${name} was saved and is not there`)
        continue
      }
      if (mayBeDeleted) continue
      const wanted = [...saved.keys()]
      const found = await table.readVersions(id, wanted, { fields: [field('description')] })
      const texts = new Map(found.map((each) => [each.version, each.fields[field('description')]]))
      for (const [version, text] of saved) {
        versions++
        if (texts.get(version) === text) continue
        problems.push(`version ${version} of ${name} was saved with another text`)
      }
    }
    return { versions, problems }
  }
}
