import HtmlWebpackPlugin from 'html-webpack-plugin'
import { GenerateSW } from 'workbox-webpack-plugin'

const server = 'http://127.0.0.1:8080'

export default (_, { mode }) => {
  const isBuild = mode === 'production'
  return {
    entry: ['./src/main.ts', ...(isBuild ? ['./src/register.js'] : [])],
    output: { filename: '[name].[contenthash].js', clean: true },
    resolve: { extensions: ['.ts', '.js'] },
    module: { rules: [{ test: /\.ts$/, loader: 'esbuild-loader' }] },
    plugins: [
      new HtmlWebpackPlugin({ template: 'index.html' }),
      // A service worker that keeps the built files, the HiLo worker among them.
      ...(isBuild ? [new GenerateSW()] : []),
    ],
    // While you develop, webpack has the page, and server.js the rest.
    devServer: {
      host: '127.0.0.1',
      port: 5173,
      proxy: [{ context: ['/databases', '/api'], target: server }],
    },
  }
}
