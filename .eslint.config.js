import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['build/**', 'node_modules/**', '.tap/**', 'data/**', '**/*.js', '**/*.cjs'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      // Options are declared once: an interface gives the type of a declaration its name.
      '@typescript-eslint/no-empty-object-type': [
        'error',
        { allowInterfaces: 'with-single-extends' },
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true }],
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
      '@typescript-eslint/no-unsafe-declaration-merging': 'error',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'max-lines': ['error', { max: 600 }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'no-restricted-imports': [
        'error',
        { paths: ['fs', 'node:fs', 'fs/promises', 'node:fs/promises', 'timers/promises'] },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'Use named exports.' },
        {
          selector: "MemberExpression[object.name='Math'][property.name='random']",
          message: 'Randomness is injected; see src/base/random.ts.',
        },
      ],
    },
  },
  {
    files: [
      'src/storage/fs/node-fs.ts',
      'src/storage/fs/own-file.ts',
      'src/storage/fs/directory-handle.ts',
      'src/storage/fs/lock*.ts',
      // The command line reads files that its caller names; the engine is not concerned.
      'src/cli/serve*.ts',
      'src/cli/repository-cli.ts',
      'src/cli/messaging-cli.ts',
      'src/cli/cli.ts',
      'src/cli/database/*.ts',
      // The files of the page lie beside the module; the bundle of the package holds their texts.
      'src/http/page-file.ts',
      'test/**/*.ts',
      'bench/**/*.ts',
    ],
    rules: { 'no-restricted-imports': 'off' },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'max-lines-per-function': ['error', { max: 200, skipBlankLines: true, skipComments: true }],
    },
  },
)
