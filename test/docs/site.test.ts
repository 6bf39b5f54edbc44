/**
 * The site of `npm run docs` fails on a broken link: each kind is planted in a small site, which is
 * built with the options of the project.
 *
 * @runs alone, campaign
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot, runProgram } from '../rules/support.js'

interface Site {
  readonly readme: string
  readonly page: string
  readonly source: string
}

/** The name of a source file of the package, which the site knows by its import. */
const entry = 'src/entries/index.ts'

const sound: Site = {
  readme: '# Small\n\n[guide](docs/guide.md#first-steps), [here](#small), [text](LICENSE)\n',
  page: '# Guide\n\n## First steps\n\n[back](../README.md), [up](#guide), [b](https://b.org/)\n',
  source: '/** See {@link twice}. */\nexport const one = 1\n/** Two. */\nexport const twice = 2\n',
}

/** Builds a site; returns the exit code and what was printed. */
async function build(site: Site): Promise<{ readonly code: number | null; readonly text: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'cellar-site-'))
  try {
    for (const name of ['docs', 'src/entries']) mkdirSync(join(folder, name), { recursive: true })
    const compiler = { compilerOptions: { module: 'nodenext', strict: true }, files: [entry] }
    const options = {
      extends: [join(projectRoot, '.typedoc.json')],
      tsconfig: 'tsconfig.json',
      entryPoints: [entry],
      readme: 'README.md',
      projectDocuments: ['docs/*.md'],
      out: 'site',
    }
    const files: Readonly<Record<string, string>> = {
      'README.md': site.readme,
      LICENSE: 'none',
      'docs/guide.md': site.page,
      [entry]: site.source,
      'package.json': '{ "name": "small", "type": "module" }',
      'tsconfig.json': JSON.stringify(compiler),
      'typedoc.json': JSON.stringify(options),
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const program = join(projectRoot, 'node_modules/typedoc/bin/typedoc')
    const typedoc = [program, '--options', join(folder, 'typedoc.json')]
    const { code, stdout, stderr } = await runProgram(process.execPath, typedoc)
    return { code, text: `${stdout}${stderr}` }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

void t.test('a site without a broken link is built', async (t) => {
  const { code, text } = await build(sound)
  t.equal(code, 0, text)
})

/** Broken sites, with what the build says of each link. */
const broken: Readonly<Record<string, readonly [Site, readonly RegExp[]]>> = {
  'links to files that are not there': [
    {
      readme: `${sound.readme}\n[x](bench/none.ts)\n`,
      page: `${sound.page}\n[x](none.md)\n`,
      source: sound.source,
    },
    [/path bench\/none\.ts is not a file/, /path none\.md is not a file/],
  ],
  'links to names that are not there': [
    {
      readme: `${sound.readme}\n{@link twofold}\n`,
      page: `${sound.page}\n{@link thrice}\n`,
      source: sound.source.replace('{@link twice}', '{@link fourfold}'),
    },
    [/resolve link to "twofold"/, /resolve link to "thrice"/, /resolve link to "fourfold"/],
  ],
  'links to headings that are not there': [
    {
      readme: `${sound.readme}\n[x](docs/guide.md#nowhere) [y](#gone)\n`,
      page: `${sound.page}\n[x](#missing)\n`,
      source: sound.source,
    },
    [/index.html links to .*Guide.html#nowhere/, /index.html links to #gone/, /#missing/],
  ],
}

for (const [title, [site, messages]] of Object.entries(broken)) {
  void t.test(`${title} fail the build`, async (t) => {
    const { code, text } = await build(site)
    t.not(code, 0)
    for (const message of messages) t.match(text, message)
  })
}
