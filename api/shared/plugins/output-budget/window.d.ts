type Keep = "head" | "tail";
export { Keep };
