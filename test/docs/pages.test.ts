/**
 * The documents lead somewhere: links resolve inside the package, tables are as generated.
 *
 * @runs alone
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import t from 'tap'
import { filesBelow, projectRoot, runProgram } from '../rules/support.js'

const isPage = (path: string): boolean => path.endsWith('.md')
const pages = ['README.md', ...filesBelow('docs', isPage)]
/** Pages beside the code, which npm packs, and those of the repository. */
const besideCode = filesBelow('src', isPage)
const ofRepository = [...filesBelow('bench', isPage), ...filesBelow('test', isPage)]

/** What npm packs beside the code. */
const packed = /^(README\.md|LICENSE|docs\/.+|src\/.+\.md)$/

const textOf = (path: string): string => readFileSync(join(projectRoot, path), 'utf8')

/** The text without code, which may look like links. */
function withoutCode(markdown: string): string {
  return markdown.replace(/^\s*```[\s\S]*?^\s*```/gm, '').replace(/`[^`\n]*`/g, '')
}

/** The names that headings of a page have in links. */
function anchorsOf(path: string): Set<string> {
  const headings = textOf(path).matchAll(/^#+ (.+)$/gm)
  const names = [...headings].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set(names)
}

/** Complaints about the links of a page. */
function brokenLinks(page: string, markdown: string): string[] {
  return [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
    if (/^https?:/.test(link)) return []
    const [path, anchor] = link.split('#')
    const target = path === '' ? page : posix.join(posix.dirname(page), path)
    const isPacked = packed.test(target) || !packed.test(page)
    if (!isPacked) return [`${page} leads to ${target}, which is not in the package`]
    if (!existsSync(join(projectRoot, target))) return [`${page} leads to ${target}, not there`]
    if (anchor === undefined || anchorsOf(target).has(anchor)) return []
    return [`${page} leads to ${target}#${anchor}, which has no such heading`]
  })
}

void t.test('links lead to files and headings of the package', (t) => {
  t.ok(pages.length > 10, `${pages.length} pages`)
  t.strictSame(
    [...pages, ...besideCode, ...ofRepository].flatMap((page) => brokenLinks(page, textOf(page))),
    [],
  )
  t.ok(besideCode.includes('src/ARCHITECTURE.md') && ofRepository.includes('bench/README.md'))
  t.equal(brokenLinks('bench/README.md', '[a](main.ts) [b](none.ts) [c](#none)').length, 2)
  t.equal(brokenLinks('README.md', '[a](docs/none.md) [b](bench/main.ts)').length, 2)
  t.equal(brokenLinks('README.md', '[a](docs/guide.md#no-such-task) [b](#cellar)').length, 1)
  t.end()
})

void t.test('the README is a first page', (t) => {
  const lines = textOf('README.md').trimEnd().split('\n')
  t.ok(lines.length <= 150, `${lines.length} lines`)
  for (const page of pages.slice(1)) {
    t.ok(
      [...pages].some((other) => other !== page && textOf(other).includes(posix.basename(page))),
      `another page names ${page}`,
    )
  }
  t.end()
})

void t.test('the table of backends is that of the source', async (t) => {
  const script = join(projectRoot, '.ci', 'hbase-table.mjs')
  const { code, stderr } = await runProgram(process.execPath, [script, '--check'])
  t.equal(code, 0, `run node .ci/hbase-table.mjs; ${stderr}`)
})

void t.test('the error codes are those of the source', async (t) => {
  const script = join(projectRoot, '.ci', 'error-codes.mjs')
  const { code, stderr } = await runProgram(process.execPath, [script, '--check'])
  t.equal(code, 0, `run npm run docs:errors; ${stderr}`)
})

void t.test('every error code of the source stands in docs/errors.md, and no other', (t) => {
  /** Codes of Node, which the source only recognises. */
  const ofNode = new Set(['ERR_ACCESS_DENIED', 'ERR_HTTP_REQUEST_TIMEOUT', 'ERR_MODULE_NOT_FOUND'])
  const codesOf = (text: string): string[] => text.match(/\b(ERR|LEVEL)_[A-Z][A-Z0-9_]+\b/g) ?? []
  const source = filesBelow('src', (path) => path.endsWith('.ts')).flatMap((path) =>
    [...textOf(path).matchAll(/(['"])((?:ERR|LEVEL)_[A-Z][A-Z0-9_]+)\1/g)].map(
      ([, , code]) => code,
    ),
  )
  const written = [...new Set(source)].filter((code) => !ofNode.has(code)).sort()
  t.ok(written.length > 100, 'the codes of the source were found')
  t.same([...new Set(codesOf(textOf('docs/errors.md')))].sort(), written)
  t.end()
})
