import "../../sandbox/quickjs/index.js";
