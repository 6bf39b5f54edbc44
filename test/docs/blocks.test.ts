/**
 * Every TypeScript block of README.md and docs/, and every file of docs/examples/, is a program
 * that compiles under strict against the
 * built package, runs to its end, and prints the lines that it says it prints.
 *
 * @runs alone, campaign
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { filesBelow, projectRoot, runProgram, runTool } from '../rules/support.js'
import { exampleOf, extractBlocks, missingLine, type Block } from './extract-blocks.js'

/** Programs that run at one time; each is a process of its own. */
const programsAtOnce = 2

/** Inside the package, so that `cellardb` resolves to it as for a user. */
const outputFolder = join(projectRoot, 'build', 'docs-blocks')

const pages = ['README.md', ...filesBelow('docs', (path) => path.endsWith('.md'))]
const examples = filesBelow('docs/examples', (path) => path.endsWith('.mts'))
const textOf = (path: string): string => readFileSync(join(projectRoot, path), 'utf8')
const blocks = [
  ...pages.flatMap((page) => extractBlocks(page, textOf(page))),
  ...examples.map((example) => exampleOf(example, textOf(example))),
]

const compilerOptions = {
  target: 'es2022',
  lib: ['es2023', 'esnext.disposable'],
  module: 'nodenext',
  moduleDetection: 'force',
  strict: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: true,
  types: ['node'],
}

function sourceOf({ page, line }: Block): string {
  return join(outputFolder, `${page.replaceAll('/', '-').replace(/\.(md|mts)$/, '')}-${line}.ts`)
}

/**
 * Compiles all programs at once, by the compiler of the build: it takes a fifth of the time of the
 * one with an interface. The complaints by the name of the source, '' if there is none.
 */
async function compile(programs: readonly Block[]): Promise<Map<string, string[]>> {
  mkdirSync(outputFolder, { recursive: true })
  for (const block of programs) writeFileSync(sourceOf(block), block.text)
  const project = { compilerOptions, files: programs.map(sourceOf) }
  writeFileSync(join(outputFolder, 'tsconfig.json'), JSON.stringify(project))
  const words = ['-p', outputFolder, '--pretty', 'false']
  const { code, stdout, stderr } = await runTool('typescript-native/bin/tsc', words, outputFolder)
  const complaints = new Map<string, string[]>()
  let name = ''
  for (const text of `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '')) {
    // Lines that name no place belong to the complaint before them.
    const found = /^(\S[^(]*)\((\d+),\d+\): (.*)$/.exec(text)
    if (found !== null) name = join(outputFolder, found[1])
    const said = found === null ? text : `${found[2]}: ${found[3]}`
    complaints.set(name, [...(complaints.get(name) ?? []), said])
  }
  if (code !== 0 && complaints.size === 0) complaints.set('', [`the compiler ended with ${code}`])
  return complaints
}

/** A program of two mistakes. */
const [wrong] = extractBlocks(
  'wrong.md',
  "```ts\nimport { nothing } from 'cellardb'\nexport const a: number = String(nothing)\n```",
)

void t.test('the code blocks of the documents', async (t) => {
  t.ok(blocks.length > 0, `${pages.length} pages have ${blocks.length} blocks`)
  const complaints = await compile([...blocks, wrong])
  const lines = complaints.get(sourceOf(wrong)) ?? []
  t.match(lines.join('\n'), /^1: .*nothing[^]*^2: .*'string'/m, 'a program that is wrong is found')
  const known = new Set([...blocks, wrong].map(sourceOf))
  const elsewhere = [...complaints].filter(([name]) => !known.has(name))
  t.strictSame(elsewhere, [], 'the compiler complains about nothing else')
  t.jobs = programsAtOnce
  for (const block of blocks) {
    const name = `${block.page}:${block.line}`
    void t.test(name, { buffered: true }, async (t) => {
      const found = complaints.get(sourceOf(block)) ?? []
      t.strictSame(found, [], `compiles; ${block.linesBefore} lines stand before the block`)
      if (found.length > 0) return
      if (block.notRun !== undefined) {
        t.comment(`not run: ${block.notRun}`)
        return
      }
      const { code, stdout, stderr } = await runProgram(
        process.execPath,
        [sourceOf(block).replace(/ts$/, 'js')],
        { cwd: t.testdir(), environment: { NODE_OPTIONS: '' } },
      )
      t.equal(code, 0, `runs to its end; ${stderr}`)
      t.equal(missingLine(block.prints, stdout), undefined, `prints what it says; ${stdout}`)
    })
  }
})

void t.test('blocks are found, continued and refused', (t) => {
  const page = [
    'text',
    '```ts',
    'const a = 1',
    '```',
    '```sh',
    '```',
    '  ```ts continued',
    '  console.log(a) // prints 1',
    '  ```',
    '```typescript not run: needs a server',
    '```',
  ].join('\n')
  const found = extractBlocks('p.md', page)
  t.strictSame(
    found.map(({ line, text, notRun, prints }) => ({ line, text, notRun, prints })),
    [
      { line: 2, text: 'const a = 1', notRun: undefined, prints: [] },
      {
        line: 7,
        text: 'const a = 1\nconsole.log(a) // prints 1',
        notRun: undefined,
        prints: ['1'],
      },
      { line: 10, text: '', notRun: 'needs a server', prints: [] },
    ],
  )
  t.throws(() => extractBlocks('p.md', '```ts continued\n```'), /p\.md:1 continues nothing/)
  t.throws(() => extractBlocks('p.md', '```ts skip\n```'), /p\.md:1 says 'skip'/)
  t.equal(missingLine(['1', '2'], 'x\n1\n2\n'), undefined)
  t.equal(missingLine(['2', '1'], '1\n2\n'), '1')
  t.end()
})
