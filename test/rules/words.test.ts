/**
 * The words of comments, room by room. A comment names the thing: "what", "whoever", "somebody" and
 * their kin make the reader look for it. No room has more of such words per 1,000 words of
 * comment than the ceiling, which is only ever lowered.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { filesBelow, projectRoot } from './support.js'

const petWords = new RegExp(
  '\\b(what(ever)? (is|was|it|has|of|lies|comes|belongs|there)|whoever|whatever|somebody|nobody' +
    '|anybody|so many|goes on|at hand|told|tells? (the|its|whoever)' +
    '|behind (it|them|the|that|these|this)|the poorer|for want of)\\b',
  'gi',
)

/** Most words per 1,000 words of comment in a room. Only ever lowered. */
const ceiling = 1

/** A source file as text: comments need no syntax tree. */
interface Text {
  readonly path: string
  readonly text: string
}

const sources: readonly Text[] = filesBelow('src', (path) => path.endsWith('.ts')).map((path) => ({
  path,
  text: readFileSync(join(projectRoot, path), 'utf8'),
}))

interface Words {
  pets: number
  all: number
}

function countIn(file: Text): Words {
  const comments = (file.text.match(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g) ?? []).join('\n')
  return {
    pets: (comments.match(petWords) ?? []).length,
    all: comments.split(/\s+/).length,
  }
}

/** Pet words per 1,000 words of comment, by room: a folder of storage, of systems, or of src. */
function countsOf(files: readonly Text[]): Map<string, number> {
  const rooms = new Map<string, Words>()
  for (const file of files) {
    const parts = file.path.split('/')
    const room = parts[['storage', 'systems'].includes(parts[1]) ? 2 : 1]
    const sum = rooms.get(room) ?? { pets: 0, all: 0 }
    const { pets, all } = countIn(file)
    rooms.set(room, { pets: sum.pets + pets, all: sum.all + all })
  }
  return new Map([...rooms].map(([room, { pets, all }]) => [room, (1000 * pets) / all]))
}

function complaints(counts: ReadonlyMap<string, number>): string[] {
  return [...counts].flatMap(([room, count]) => {
    return count > ceiling + 0.05 ? [`${room}: ${count.toFixed(1)} above ${ceiling}`] : []
  })
}

void t.test('no room has more pet words than the ceiling', async (t) => {
  t.strictSame(complaints(countsOf(sources)), [])
})

void t.test('a planted comment is found', async (t) => {
  const text = '/** Tells whoever asks what is there. */\nexport const a = 1\n'
  t.strictSame(complaints(countsOf([{ path: 'src/storage/wal/a.ts', text }])), [
    'wal: 250.0 above 1',
  ])
})
