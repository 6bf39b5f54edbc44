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
import ts from 'typescript'
import { filesBelow, projectRoot, runProgram } from '../rules/support.js'
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

const settings: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  moduleDetection: ts.ModuleDetectionKind.Force,
  strict: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: true,
  types: ['node'],
  rootDir: outputFolder,
  outDir: outputFolder,
}

function sourceOf({ page, line }: Block): string {
  return join(outputFolder, `${page.replaceAll('/', '-').replace(/\.(md|mts)$/, '')}-${line}.ts`)
}

/** Compiles all programs at once; the complaints by the name of the source. */
function compile(programs: readonly Block[]): Map<string, string[]> {
  mkdirSync(outputFolder, { recursive: true })
  for (const block of programs) writeFileSync(sourceOf(block), block.text)
  const program = ts.createProgram(programs.map(sourceOf), settings)
  const { diagnostics } = program.emit()
  const complaints = new Map<string, string[]>()
  for (const found of [...ts.getPreEmitDiagnostics(program), ...diagnostics]) {
    const name = found.file?.fileName ?? ''
    const text = ts.flattenDiagnosticMessageText(found.messageText, '\n')
    const line = found.file?.getLineAndCharacterOfPosition(found.start ?? 0).line ?? 0
    complaints.set(name, [...(complaints.get(name) ?? []), `${line + 1}: ${text}`])
  }
  return complaints
}

void t.test('the code blocks of the documents', async (t) => {
  t.ok(blocks.length > 0, `${pages.length} pages have ${blocks.length} blocks`)
  const complaints = compile(blocks)
  const known = new Set(blocks.map(sourceOf))
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
